// Package llama continues conversations with a model of its own, on llama.cpp.
//
// One goroutine owns the model's context and answers everybody at once: each step decodes one batch with the next token
// of every conversation that is being answered, and a bounded piece of the prompts of those that are about to be. What
// a conversation has computed stays for its next turn, and what several share (the system prompt) is computed once.
//
// llama.cpp is loaded from shared objects without cgo, so the package builds without a C compiler. Its CPU code runs on
// OpenMP, whose threads by default spin while they wait, which ruins every other engine on a machine with few cores:
// the process has to be started with OMP_WAIT_POLICY=passive.
package llama
