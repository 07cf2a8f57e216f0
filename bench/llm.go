package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"riposte/llm"
)

// answerTokens is how long measured answers are.
const answerTokens = 48

// LLM measures a language model: how soon it begins, how fast it goes on, alone and for four callers, and whether what it
// says depends on any of this. All answers are greedy. What the model is asked first, to warm it up, is in no figure.
type LLM struct {
	Model llm.Generator
	// Raw has the model's library continue a request by itself, for n tokens, and returns the time for all but the first.
	Raw func(ctx context.Context, r llm.Request, n int) (time.Duration, error)
	// Tokens returns how many tokens the model has made for all callers.
	Tokens  func() int
	Prompts int    // How many of the prompts are used. It defaults to all 24.
	Runs    int    // Conversations of ten turns, and answers that are cancelled. It defaults to 5.
	Seed    uint64 // The order of the prompts.
}

// LLMResult is what LLM measured. Rates are of whole answers, their prompts included.
type LLMResult struct {
	TTFT Percentiles `json:"ttft_ms"` // One caller, first turn, instructions known: from the request to the first text.
	// TurnRatio is the median over conversations of the time to first text of the tenth turn by that of the first, which
	// says as many new words. History is the tokens that the tenth turn's prompt has, and Turns the median time of each.
	TurnRatio float64   `json:"ttft_turn10_over_turn1"`
	History   int       `json:"history_tokens"`
	Turns     []float64 `json:"ttft_by_turn_ms"`
	// The same for turns all of whose words but the last were read while they were spoken, as a service does.
	AheadRatio float64   `json:"ttft_ahead_turn10_over_turn1"`
	AheadTurns []float64 `json:"ttft_ahead_by_turn_ms"`

	Rate1   float64 `json:"tokens_per_s_1"`
	Rate4   float64 `json:"tokens_per_s_4"` // Of all four together.
	Scaling float64 `json:"scaling_4_over_1"`
	// OverRaw is the median over prompts, each answered and then continued by the library alone, of how fast tokens follow
	// the first one by how fast they do there.
	OverRaw float64 `json:"over_raw"`
	RawRate float64 `json:"raw_tokens_per_s"`
	OurRate float64 `json:"decode_tokens_per_s"` // What OverRaw compares with it.

	CancelTokens int      `json:"cancel_tokens"` // The most tokens that an answer grew by after it was cancelled.
	Identical    bool     `json:"identical"`     // Every answer was the same alone, beside three others, and read ahead.
	Different    []string `json:"different"`     // The prompts whose answers were not, and how they came about.
	Prompts      int      `json:"prompts"`
	Runs         int      `json:"runs"`
	Failed       int      `json:"failed"` // Answers that ended with an error or without text; they are in no other figure.

	About

	plain, read conversations
}

// llmTurns is how many turns the measured conversations have.
const llmTurns = 10

// llmVoice is what the model is told in every conversation.
const llmVoice = "You are a friendly voice assistant. You are heard, not read: answer in plain sentences."

// llmPrompts ask for more than the measured answers have room for.
var llmPrompts = []string{
	"Tell me a long story about a lighthouse and its keeper.", "Describe a busy market in the morning, in many sentences.",
	"Explain at length how bread is baked.", "Tell me everything you know about whales.",
	"Describe the seasons of the year one after the other.", "Tell me a long story about a dog who finds a map.",
	"Explain in detail how a bicycle works.", "Describe a train journey through the mountains.",
	"Tell me about the history of the telephone in detail.", "Describe the house of your dreams, room by room.",
	"Explain at length why people keep diaries.", "Tell me a long story about two sisters and an old boat.",
	"Describe how a letter travels from one city to another.", "Explain in detail how to plant a garden.",
	"Tell me about a famous explorer and his travels, at length.", "Describe a thunderstorm from the first cloud to the last drop.",
	"Explain at length how the moon makes the tides.", "Tell me a long story about a clock that stopped.",
	"Describe a day in the life of a baker in detail.", "Explain at length how birds find their way.",
	"Tell me about the oceans of the world, one after the other.", "Describe a library at night, in many sentences.",
	"Explain in detail how to make a pot of soup.", "Tell me a long story about a village without a road.",
}

// llmTurn is what a caller says in each turn of a conversation: about a hundred tokens.
const llmTurn = "In turn number %02d I would like to hear more about the town on the coast, its harbour, and the people who live there. " +
	"Last time you told me about the fishermen who leave before sunrise and come back at noon, about the market on the square where " +
	"they sell what they have caught, about the old church on the hill from which one sees the islands, and about the school where " +
	"the children learn to sail. Please go on from there and tell me what happens in the evening when the lamps are lit."

// Run measures. Answers that fail are counted; the error is one that leaves nothing to measure.
func (b *LLM) Run(ctx context.Context) (LLMResult, error) {
	if b.Prompts <= 0 || b.Prompts > len(llmPrompts) {
		b.Prompts = len(llmPrompts)
	}
	if b.Runs <= 0 {
		b.Runs = 5
	}
	r := LLMResult{Prompts: b.Prompts, Runs: b.Runs, Identical: true, Different: []string{}, About: about(b.Seed)}
	order := rand.New(rand.NewPCG(b.Seed, 0)).Perm(len(llmPrompts))[:b.Prompts]
	if _, err := b.answer(ctx, firstTurn("warm up", "Say something.")); err != nil {
		return r, fmt.Errorf("to warm up: %w", err)
	}
	alone, err := b.alone(ctx, order, &r)
	if err != nil {
		return r, err
	}
	for _, part := range []func(context.Context, []int, map[int]string, *LLMResult) error{b.together, b.ahead, b.turns, b.cancel} {
		if err := part(ctx, order, alone, &r); err != nil {
			return r, err
		}
	}
	r.Identical = len(r.Different) == 0
	r.Machine = r.Machine.after()
	return r, nil
}

// firstTurn is a conversation that begins.
func firstTurn(conversation, prompt string) llm.Request {
	return llm.Request{Conversation: conversation, MaxTokens: answerTokens, Messages: []llm.Message{
		{Role: llm.System, Text: llmVoice}, {Role: llm.User, Text: prompt},
	}}
}

// answered is how an answer came.
type answered struct {
	text       string
	first, all time.Duration // To the first text and to the end.
	usage      llm.Usage
}

// answer has the model answer.
func (b *LLM) answer(ctx context.Context, r llm.Request) (answered, error) {
	var a answered
	var text strings.Builder
	began := time.Now()
	for p, err := range b.Model.Generate(ctx, r) {
		if err != nil {
			return a, err
		}
		if a.first == 0 && p.Text != "" {
			a.first = time.Since(began)
		}
		text.WriteString(p.Text)
		if p.Usage != nil {
			a.usage = *p.Usage
		}
	}
	a.all, a.text = time.Since(began), text.String()
	if a.text == "" {
		return a, errors.New("the answer has no text")
	}
	return a, nil
}

// alone measures one caller, each answer right before the library's own.
func (b *LLM) alone(ctx context.Context, order []int, r *LLMResult) (texts map[int]string, last error) {
	texts = map[int]string{}
	var first []time.Duration
	var all, ours, raw time.Duration
	var ratios []float64
	tokens, following, bare := 0, 0, 0
	for _, i := range order {
		q := firstTurn(fmt.Sprint("alone ", i), llmPrompts[i])
		a, err := b.answer(ctx, q)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			r.Failed, last = r.Failed+1, err
			continue
		}
		texts[i] = a.text
		first, all, tokens = append(first, a.first), all+a.all, tokens+a.usage.Output
		if a.usage.Output < 2 {
			continue
		}
		took, err := b.Raw(ctx, q, a.usage.Output)
		if err != nil {
			return nil, fmt.Errorf("the library alone: %w", err)
		}
		ratios = append(ratios, took.Seconds()/(a.all-a.first).Seconds())
		ours, raw = ours+a.all-a.first, raw+took
		following, bare = following+a.usage.Output-1, bare+a.usage.Output-1
	}
	if len(ratios) == 0 {
		return nil, fmt.Errorf("no prompt was answered: %w", last)
	}
	r.TTFT, r.Rate1, r.OverRaw = percentiles(first), float64(tokens)/all.Seconds(), median(ratios)
	r.OurRate, r.RawRate = float64(following)/ours.Seconds(), float64(bare)/raw.Seconds()
	return texts, nil
}

// together measures four callers who ask at the same moments.
func (b *LLM) together(ctx context.Context, order []int, alone map[int]string, r *LLMResult) error {
	const callers = 4
	var all time.Duration
	tokens := 0
	for from := 0; from+callers <= len(order); from += callers {
		var answers [callers]answered
		var errs [callers]error
		var wg sync.WaitGroup
		began := time.Now()
		for k, i := range order[from : from+callers] {
			wg.Go(func() { answers[k], errs[k] = b.answer(ctx, firstTurn(fmt.Sprint("together ", i), llmPrompts[i])) })
		}
		wg.Wait()
		took := time.Since(began)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Join(errs[:]...) == nil {
			all += took
		}
		for k, i := range order[from : from+callers] {
			if errs[k] != nil {
				r.Failed++
				continue
			}
			if errors.Join(errs[:]...) == nil {
				tokens += answers[k].usage.Output
			}
			r.compare(i, "beside others", alone, answers[k].text)
		}
	}
	if tokens > 0 {
		r.Rate4 = float64(tokens) / all.Seconds()
		r.Scaling = r.Rate4 / r.Rate1
	}
	return nil
}

// compare notes whether an answer is what it was alone.
func (r *LLMResult) compare(i int, how string, alone map[int]string, text string) {
	if want, ok := alone[i]; ok && text != want {
		r.Different = append(r.Different, fmt.Sprintf("%s: %s", how, llmPrompts[i]))
	}
}

// ahead reads each prompt in growing parts, one of which goes another way, before it is answered.
func (b *LLM) ahead(ctx context.Context, order []int, alone map[int]string, r *LLMResult) error {
	for _, i := range order {
		q := llmPrompts[i]
		var err error
		for _, part := range []string{q[:len(q)/3], q[:len(q)/2] + " or so they said", q[:2*len(q)/3], q} {
			if _, err = b.Model.Read(ctx, firstTurn(fmt.Sprint("ahead ", i), part)); err != nil {
				break
			}
		}
		var a answered
		if err == nil {
			a, err = b.answer(ctx, firstTurn(fmt.Sprint("ahead ", i), q))
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			r.Failed++
		default:
			r.compare(i, "read ahead", alone, a.text)
		}
	}
	return nil
}

// turns holds conversations of ten turns that say as much each, heard at once and read ahead.
func (b *LLM) turns(ctx context.Context, _ []int, _ map[int]string, r *LLMResult) error {
	for range b.Runs {
		for _, ahead := range []bool{false, true} {
			if err := b.converse(ctx, ahead, r); err != nil {
				return err
			}
		}
	}
	r.TurnRatio, r.Turns = r.plain.ratio(), r.plain.medians()
	r.AheadRatio, r.AheadTurns = r.read.ratio(), r.read.medians()
	return nil
}

// conversations are the times to first text of each turn, by conversation, in milliseconds.
type conversations [][]float64

// medians returns that of each turn.
func (c conversations) medians() []float64 {
	var out []float64
	for n := 0; ; n++ {
		var times []float64
		for _, turns := range c {
			if n < len(turns) {
				times = append(times, turns[n])
			}
		}
		if len(times) == 0 {
			return out
		}
		out = append(out, median(times))
	}
}

// ratio returns the median of the last turn's time by the first's.
func (c conversations) ratio() float64 {
	var ratios []float64
	for _, turns := range c {
		if len(turns) == llmTurns {
			ratios = append(ratios, turns[llmTurns-1]/turns[0])
		}
	}
	if len(ratios) == 0 {
		return 0
	}
	return median(ratios)
}

// converse holds one conversation.
func (b *LLM) converse(ctx context.Context, ahead bool, r *LLMResult) error {
	into := &r.plain
	if ahead {
		into = &r.read
	}
	q := firstTurn(fmt.Sprint("turns ", ahead, len(*into)), "")
	// Instructions of its own keep it from finding what another conversation, whose words are the same, has computed.
	q.Messages = []llm.Message{{Role: llm.System, Text: fmt.Sprintf("Number %d.%t: %s", len(*into), ahead, llmVoice)}}
	_, err := b.Model.Read(ctx, q)
	var times []float64
	for n := 0; n < llmTurns && err == nil; n++ {
		text := fmt.Sprintf(llmTurn, n+1)
		q.Messages = append(q.Messages, llm.Message{Role: llm.User, Text: text[:strings.LastIndex(text, " ")]})
		if ahead {
			if _, err = b.Model.Read(ctx, q); err != nil {
				break
			}
		}
		q.Messages[len(q.Messages)-1].Text = text
		var a answered
		if a, err = b.answer(ctx, q); err == nil {
			times, r.History = append(times, ms(a.first)), a.usage.Prompt
			q.Messages = append(q.Messages, llm.Message{Role: llm.Assistant, Text: a.text})
		}
	}
	*into = append(*into, times)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.Failed++
	}
	return nil
}

// cancel ends answers in the middle and counts what still comes.
func (b *LLM) cancel(ctx context.Context, order []int, _ map[int]string, r *LLMResult) error {
	for run := range b.Runs {
		q := firstTurn(fmt.Sprint("cancel ", run), llmPrompts[order[run%len(order)]])
		answer, cancel := context.WithCancel(ctx)
		pieces, at := 0, 0
		for p, err := range b.Model.Generate(answer, q) {
			if err != nil || p.Usage != nil {
				break
			}
			if pieces++; pieces == 8 {
				at = b.Tokens()
				cancel()
			}
		}
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if pieces < 8 {
			r.Failed++
			continue
		}
		time.Sleep(time.Second / 2)
		r.CancelTokens = max(r.CancelTokens, b.Tokens()-at)
	}
	return nil
}
