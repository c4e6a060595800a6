package judge

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"tare"
	"tare/internal/llm"
)

//go:embed prompt.txt
var prompt string

// A ModelJudge is a judge that is a model behind an API.
type ModelJudge struct {
	model llm.Model
	name  string
	limit time.Duration
}

// OpenModel makes a judge of a model. Its name holds the hash of what it is told: told otherwise it is another judge.
func OpenModel(m llm.Model, label string, limit time.Duration) *ModelJudge {
	hash := strings.TrimPrefix(string(tare.HashBytes([]byte(prompt))), "sha256:")[:16]
	return &ModelJudge{model: m, name: label + "@" + hash, limit: limit}
}

// Name is the model's name and the beginning of the hash of its prompt.
func (j *ModelJudge) Name() string { return j.name }

// Ask asks once.
func (j *ModelJudge) Ask(ctx context.Context, q Question) (a Answer, err error) {
	in, err := tare.Canonical(q)
	if err != nil {
		return a, err
	}
	limit, cancel := context.WithTimeout(ctx, j.limit)
	defer cancel()
	turn, err := j.model.Turn(limit, llm.Request{System: prompt, Messages: []llm.Message{{Role: llm.User, Blocks: []llm.Block{{Kind: llm.Text, Text: string(in)}}}}})
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case limit.Err() != nil:
		return a, fmt.Errorf("no answer within %s", j.limit)
	case err != nil:
		return a, err
	case turn.Stop == llm.Refusal:
		return a, errors.New("the model refused")
	case turn.Stop != llm.EndTurn:
		return a, fmt.Errorf("the model's answer ended with %s", turn.Stop)
	}
	return parseAnswer([]byte(unfenced(turn.Text())), q)
}

// unfenced is text without the code fence that many models put around JSON. All else that is beside an answer makes it none.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return text
	}
	return strings.TrimPrefix(inner, "json")
}
