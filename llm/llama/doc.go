// Package llama continues conversations with a model of its own, on llama.cpp.
//
// One goroutine owns the model's context and answers everybody at once: each step decodes one batch with the next token
// of every conversation that is being answered, and a bounded piece of the prompts of those that are about to be. What
// a conversation has computed stays for its next turn, and what several share (the system prompt) is computed once. Who
// has to make room for others is saved to host memory.
//
// Every step waits for its turn among all native work of the process, as urgent as the most urgent of its conversations.
// Whose voice has sound left to play stays out of the steps of those who hear silence, and what nobody waits for, such as
// words that are read ahead, stops at once when somebody comes who does.
//
// A greedy answer is the same alone and beside others, and however its prompt came into the memory: a token's numbers do
// not depend on what is computed with it. That holds for 8-bit weights (Q8_0) on x86 CPUs; other formats may be rounded
// otherwise for one token than for many.
//
// llama.cpp is loaded from shared objects without cgo, so the package builds without a C compiler. Its CPU code runs on
// OpenMP, whose threads by default spin while they wait, which ruins every other engine on a machine with few cores:
// the process has to be started with OMP_WAIT_POLICY=passive.
package llama
