package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/llm"
)

// A Live is an agent that asks a model what to do next and does it, with the tools of its world.
type Live struct {
	Label     string // the agent's name
	Model     llm.Model
	Policy    Policy
	Prices    llm.Prices
	MaxTokens int64 // of an answer; 0: the default
	Result    int   // bytes of a tool's result that the model is shown; 0: DefaultResult
	Thoughts  bool  // its reasoning goes into the record

	// Approve answers what the policy asks before the end; nil approves. An error is ours.
	Approve func(ctx context.Context, question, final string) (tare.Approval, error)
}

// DefaultResult bounds what a model is shown of a tool's result, in bytes.
const DefaultResult = 48 << 10

// What bounds a conversation that no limit on calls does.
const mostTurns = 300

func (a Live) Name() string { return a.Label }

func (a Live) Play(ctx context.Context, brief tare.Brief, w World) (Ending, error) {
	if ctx.Err() != nil {
		return interrupted(ctx), nil
	}
	c := &conversation{Live: a, ctx: ctx, world: w, limits: brief.Limits, said: map[int]bool{}}
	end, err := c.play(brief)
	if errors.Is(err, errInterrupted) || err != nil && ctx.Err() != nil {
		end, err = interrupted(ctx), nil
	}
	if err != nil {
		return Ending{}, fmt.Errorf("playing %s: %w", a.Label, err)
	}
	end.Final = bounded([]byte(c.final))
	if len(c.turns) > 0 {
		if u := tare.TotalUsage(c.turns); u != (tare.Usage{}) {
			end.Usage = &u
		}
	}
	return end, nil
}

// A conversation is one Play on its way.
type conversation struct {
	Live
	ctx    context.Context // of the one Play that it belongs to
	world  World
	limits tare.Limits

	servers []*hands
	tools   []llm.Tool
	at      map[string]*hands // which server has a tool
	req     llm.Request
	turns   []tare.ModelTurn
	deeds   []deed
	said    map[int]bool // rules
	sent    int          // reminders
	final   string
}

func (c *conversation) play(brief tare.Brief) (Ending, error) {
	defer func() {
		for _, h := range c.servers {
			h.close()
		}
	}()
	if err := c.connect(); err != nil {
		return Ending{}, err
	}
	c.req = llm.Request{System: strings.TrimSpace(c.Policy.System), Tools: c.tools, MaxTokens: c.MaxTokens}
	c.tell(c.Policy.first(Prompt(brief)))
	for {
		if end, over := c.spent(); over {
			return end, nil
		}
		turn, end, err := c.ask()
		if err != nil || end.Stop != "" {
			return end, err
		}
		end, err = c.heed(turn)
		c.report()
		if err != nil || end.Stop != "" {
			return end, err
		}
	}
}

// heed does what an answer says. There is no ending where the conversation goes on.
func (c *conversation) heed(turn llm.Turn) (Ending, error) {
	if text := turn.Text(); text != "" {
		c.final = text
	}
	c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.Assistant, Blocks: turn.Blocks})
	switch calls := turn.Calls(); {
	case turn.Stop == llm.MaxTokens:
		return Ending{Stop: tare.TokenLimit, Detail: "an answer was cut off at the limit on its length"}, nil
	case turn.Stop == llm.Refusal:
		return Ending{Stop: tare.Refusal, Detail: "the model refused"}, nil
	case turn.Stop == llm.Paused: // the same again, with what it said so far
		return Ending{}, nil
	case len(calls) > 0:
		return Ending{}, c.carryOut(calls)
	default:
		return c.done()
	}
}

// connect opens the servers of the world and learns what tools they have.
func (c *conversation) connect() error {
	c.at = map[string]*hands{}
	sockets := []string{c.world.Socket}
	if c.world.Patch != nil {
		sockets = append(sockets, c.world.Patch.Socket)
	}
	for _, socket := range sockets {
		h, err := dial(c.ctx, socket)
		if err != nil {
			return err
		}
		c.servers = append(c.servers, h)
		for t, err := range h.session.Tools(c.ctx, nil) {
			if err != nil {
				return fmt.Errorf("listing the tools of the world: %w", err)
			}
			schema, err := json.Marshal(t.InputSchema)
			if err != nil {
				return fmt.Errorf("reading the schema of %s: %w", t.Name, err)
			}
			if c.at[t.Name] == nil {
				c.at[t.Name] = h
				c.tools = append(c.tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: schema})
			}
		}
	}
	return nil
}

// tell says something to the model.
func (c *conversation) tell(text string) {
	c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.User, Blocks: []llm.Block{{Kind: llm.Text, Text: text}}})
}

// spent says whether a limit is reached before the next answer.
func (c *conversation) spent() (Ending, bool) {
	if len(c.turns) >= mostTurns {
		return Ending{Stop: tare.TurnLimit, Detail: fmt.Sprintf("the limit on answers is reached: %d", mostTurns)}, true
	}
	if len(c.turns) == 0 || c.limits.Tokens <= 0 && c.limits.Dollars <= 0 {
		return Ending{}, false
	}
	u := tare.TotalUsage(c.turns)
	if c.limits.Tokens > 0 {
		switch {
		case u.InputTokens == nil || u.OutputTokens == nil:
			return Ending{Stop: tare.BudgetLimit, Detail: "what an answer took is unknown, so the budget in tokens cannot be kept"}, true
		case *u.InputTokens+*u.OutputTokens >= c.limits.Tokens:
			return Ending{Stop: tare.BudgetLimit, Detail: fmt.Sprintf("the budget in tokens is spent: %d of %d", *u.InputTokens+*u.OutputTokens, c.limits.Tokens)}, true
		}
	}
	if c.limits.Dollars > 0 {
		switch {
		case u.Dollars == nil:
			return Ending{Stop: tare.BudgetLimit, Detail: "what an answer cost is unknown, so the budget in money cannot be kept"}, true
		case *u.Dollars >= c.limits.Dollars:
			return Ending{Stop: tare.BudgetLimit, Detail: fmt.Sprintf("the budget in money is spent: $%.4f of $%.4f", *u.Dollars, c.limits.Dollars)}, true
		}
	}
	return Ending{}, false
}

// ask gets the next answer. An ending is that of a conversation whose answer did not come.
func (c *conversation) ask() (llm.Turn, Ending, error) {
	began := time.Now()
	turn, err := c.Model.Turn(c.ctx, c.req)
	took := tare.ModelTurn{Seconds: time.Since(began).Seconds(), Model: c.Model.Name()}
	var f *llm.Failure
	switch {
	case errors.As(err, &f):
		took.Tries, took.Lost = f.Tries, f.Lost
		c.turns = append(c.turns, took)
		c.report()
		if f.Overflow {
			return turn, Ending{Stop: tare.TokenLimit, Detail: f.Error()}, nil
		}
		return turn, Ending{Stop: tare.ProviderError, Detail: f.Error()}, nil
	case c.ctx.Err() != nil:
		c.turns = append(c.turns, tare.ModelTurn{Seconds: took.Seconds, Model: took.Model, Tries: 1, Lost: 1})
		c.report()
		return turn, Ending{}, errInterrupted
	case err != nil:
		return turn, Ending{}, err
	}
	took.Stop, took.Usage, took.Tries, took.Lost, took.Calls = string(turn.Stop), turn.Usage, turn.Tries, turn.Lost, len(turn.Calls())
	took.Usage.Dollars = c.Prices.Dollars(c.Model.Name(), turn.Usage)
	if c.Thoughts {
		var thoughts []string
		for _, b := range turn.Blocks {
			if b.Kind == llm.Thinking && b.Text != "" {
				thoughts = append(thoughts, b.Text)
			}
		}
		took.Thought = bounded([]byte(strings.Join(thoughts, "\n")))
	}
	c.turns = append(c.turns, took)
	return turn, Ending{}, nil
}

// report tells of the last answer, once all is known of it.
func (c *conversation) report() {
	if c.world.OnTurn != nil {
		c.world.OnTurn(c.turns[len(c.turns)-1])
	}
}

// carryOut makes the calls of an answer, in its order, and tells the model what came of each.
func (c *conversation) carryOut(calls []llm.Block) error {
	var results []llm.Block
	for _, call := range calls {
		text, ok, err := c.call(call)
		if err != nil {
			return err
		}
		results = append(results, llm.Block{Kind: llm.ToolResult, ID: call.ID, Name: call.Name, Text: text, Fail: !ok})
	}
	c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.User, Blocks: results})
	return nil
}

// call makes one. A call that cannot be made is the model's mistake, and is answered as that; an error is ours or ctx's.
func (c *conversation) call(b llm.Block) (text string, ok bool, err error) {
	var args map[string]any
	dec := json.NewDecoder(strings.NewReader(b.Args))
	dec.UseNumber()
	if err := dec.Decode(&args); err != nil || args == nil || dec.More() {
		why := "they are no object"
		if err != nil {
			why = err.Error()
		}
		return c.mistake(fmt.Sprintf("the call of %q was not made, for its arguments are no JSON object: %s", b.Name, why))
	}
	if b.Name == "" {
		return c.mistake("the call was not made, for it names no tool")
	}
	h := c.at[b.Name]
	if h == nil {
		h = c.servers[0] // which says, and records, that there is no such tool
	}
	res, err := h.session.CallTool(c.ctx, &mcp.CallToolParams{Name: b.Name, Arguments: json.RawMessage(b.Args)})
	var wire *jsonrpc.Error
	switch {
	case c.ctx.Err() != nil:
		return "", false, errInterrupted
	case errors.As(err, &wire):
		return c.mistake(fmt.Sprintf("the call of %q was refused: %s", b.Name, wire.Message))
	case err != nil && h.there(): // the connection broke, and is there again
		return "there was no answer: " + err.Error(), false, nil
	case c.ctx.Err() != nil:
		return "", false, errInterrupted
	case err != nil:
		return "", false, fmt.Errorf("calling %s: %w", b.Name, err)
	}
	a, err := answerOf(b.Name, res)
	if err != nil {
		return "", false, err
	}
	d := deed{tool: b.Name, args: args, ok: a.ok}
	json.Unmarshal(a.data, &d.data) // of a result without structure nothing is known
	c.deeds = append(c.deeds, d)
	text = a.text
	if text == "" && len(a.data) > 0 && string(a.data) != "null" {
		text = string(a.data)
	}
	return c.shown(text), a.ok, nil
}

func (c *conversation) mistake(text string) (string, bool, error) {
	t := &c.turns[len(c.turns)-1]
	t.Mistakes = append(t.Mistakes, bounded([]byte(text)))
	return text, false, nil
}

// shown is what the model gets to see of a result: of one that is too long the beginning and the end, and how much is missing.
func (c *conversation) shown(text string) string {
	most := c.Result
	if most <= 0 {
		most = DefaultResult
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= most {
		return text
	}
	head := strings.ToValidUTF8(text[:most/2], "")
	tail := strings.ToValidUTF8(text[len(text)-most/2:], "")
	return fmt.Sprintf("%s\n[%d of %d bytes are left out here: the result is longer than the limit of %d]\n%s", head, len(text)-len(head)-len(tail), len(text), most, tail)
}

// done hears the model's word that it is done. There is no ending where it has to go on.
func (c *conversation) done() (Ending, error) {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.Name
	}
	if i := c.Policy.broken(names, c.deeds, c.said); i >= 0 && c.sent < c.Policy.reminders() {
		c.said[i] = true
		c.sent++
		c.tell(c.Policy.BeforeEnd[i].Say)
		return Ending{}, nil
	}
	if c.Policy.Approval == "" {
		return Ending{Stop: tare.EndTurn}, nil
	}
	approval := tare.Approval{Approved: true, By: "auto"}
	if c.Approve != nil {
		var err error
		if approval, err = c.Approve(c.ctx, c.Policy.Approval, c.final); err != nil {
			return Ending{}, fmt.Errorf("asking for approval: %w", err)
		}
	}
	approval.Asked = c.Policy.Approval
	if c.world.OnApproval != nil {
		c.world.OnApproval(approval)
	}
	if !approval.Approved {
		return Ending{Stop: tare.Cancelled, Detail: strings.TrimSuffix("the approval was refused: "+approval.Why, ": ")}, nil
	}
	return Ending{Stop: tare.EndTurn}, nil
}
