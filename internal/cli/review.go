package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/oracle"
	"tare/internal/run"
	"tare/internal/store"
)

// answerSchema is the schema of a person's answer to what a judge may not answer.
const answerSchema = "tare.answer/1"

// A judgedAnswer is what a person says of an item of a dimension in which no judge is listened to.
type judgedAnswer struct {
	Schema    string      `json:"schema"`
	Admission tare.Digest `json:"admission"` // of the entry that sent the item to a person
	Judge     string      `json:"judge"`
	Dimension string      `json:"dimension"`
	Item      string      `json:"item"`
	Score     float64     `json:"score"`
	By        string      `json:"by"`
	Why       string      `json:"why"`
}

// waiting is one thing that waits for a person.
type waiting struct {
	ID      string       `json:"id"`
	Kind    string       `json:"kind"` // scenario or judge
	Where   string       `json:"where"`
	Asked   string       `json:"asked"`
	Answers []string     `json:"answers"` // none: no answer settles it
	Outcome tare.Outcome `json:"outcome,omitempty"`

	run      string
	episode  tare.Episode
	task     *tare.Task
	question oracle.Question
	record   tare.Digest
	item     judgedAnswer
}

// waitingID names what waits by what it is asked of, so that it does not change when something else is answered.
func waitingID(parts ...string) string {
	return strings.TrimPrefix(string(tare.HashBytes([]byte(strings.Join(parts, "\x00")))), "sha256:")[:10]
}

func (a *app) review() *cobra.Command {
	var tasks []string
	var all bool
	c := &cobra.Command{
		Use:   "review [RUN]",
		Short: "List what waits for a person, and take answers",
		Long: `review lists what the verdicts on scenarios left open (what became of a call, and gates that could not be decided), of all runs in the
store or of one, and the items of dimensions in which no judge is admitted.

An answer makes a further record, joined to the old one by its hash, and that is judged anew: the old verdict stays.`,
		Example: "  tare review\n  tare review 3f2a9c1b7d04\n  tare review answer 5d0c2f91ab applied --by 'R. Reviewer' --why 'the audit log has it at 10:14'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := a.waiting(args, tasks)
			if err != nil {
				return err
			}
			return a.writeWaiting(list, all)
		},
	}
	c.PersistentFlags().StringSliceVar(&tasks, "task", nil, "tasks of runs that are not built in: directories")
	c.Flags().BoolVar(&all, "all", false, "list every item of a dimension, and not its first three")
	c.AddCommand(a.reviewAnswer(&tasks))
	return c
}

func (a *app) reviewAnswer(tasks *[]string) *cobra.Command {
	var by, why string
	c := &cobra.Command{
		Use:   "answer ID ANSWER --by NAME --why REASON",
		Short: "Answer one thing that waits",
		Long: `answer takes what 'tare review' shows as answers: applied, not_applied or twice for what became of a call; yes (all that the gate asks
holds, not only what is shown of it) or no for a gate; a score for an item of a judge's. It says how the verdict moved.`,
		Example: "  tare review answer 5d0c2f91ab applied --by 'R. Reviewer' --why 'the audit log has it at 10:14'",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			by, why = strings.TrimSpace(by), strings.TrimSpace(why)
			if by == "" || why == "" {
				return usage("an answer takes --by, a name, and --why, a reason")
			}
			return a.answer(args[0], args[1], by, why, *tasks)
		},
	}
	c.Flags().StringVar(&by, "by", "", "who answers")
	c.Flags().StringVar(&why, "why", "", "what shows it")
	return c
}

// waiting lists what waits, in runs first.
func (a *app) waiting(args, tasks []string) ([]waiting, error) {
	var out []waiting
	runs, err := a.files().Runs()
	if err != nil {
		return nil, err
	}
	if len(args) == 1 {
		id, err := a.findRun(args[0])
		if errors.Is(err, store.ErrNotFound) {
			return nil, usage("there is no run %q in %s; see 'tare list runs'", args[0], a.state)
		}
		if err != nil {
			return nil, err
		}
		runs = []string{id}
	}
	for _, id := range runs {
		results, err := a.resultsWith(id, tasks)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			out = append(out, openIn(id, r)...)
		}
	}
	if len(args) == 1 {
		return out, nil
	}
	items, err := a.openItems()
	return append(out, items...), err
}

// openIn lists what the latest verdict on an episode left open.
func openIn(id string, r run.Result) []waiting {
	if !r.Played() || len(r.History) == 0 {
		return nil
	}
	latest := r.History[len(r.History)-1]
	if r.Job.Task.Kind != tare.Scenario || len(latest.Unresolved) == 0 {
		return nil
	}
	var out []waiting
	for _, q := range oracle.Questions(r.Job.Task, r.Record, latest.Record) {
		ep := r.Job.Episode
		out = append(out, waiting{
			ID: waitingID(id, string(ep.Key()), string(latest.Record), q.About), Kind: "scenario", Where: id + "/" + shortName(ep), Asked: q.About, Answers: append([]string{}, q.Answers...),
			Outcome: latest.Outcome, run: id, episode: ep, task: r.Job.Task, question: q, record: latest.Record,
		})
	}
	return out
}

// openItems lists the items that judges may not answer and no person has yet.
func (a *app) openItems() ([]waiting, error) {
	admissions, err := a.admissions()
	if err != nil {
		return nil, err
	}
	answers, err := a.answers()
	if err != nil {
		return nil, err
	}
	var out []waiting
	for _, adm := range admissions {
		for _, d := range adm.fact.Dimensions {
			for _, item := range d.Review {
				if slices.ContainsFunc(answers, func(x judgedAnswer) bool {
					return x.Admission == adm.hash && x.Judge == d.Judge && x.Dimension == d.Name && x.Item == item
				}) {
					continue
				}
				why := "no answer of the judge's in both orders"
				if len(d.Reasons) > 0 {
					why = d.Reasons[0].Text
				}
				out = append(out, waiting{
					ID: waitingID(string(adm.hash), d.Judge, d.Name, item), Kind: "judge", Where: d.Name + "/" + item, Asked: why, Answers: []string{"a score"},
					item: judgedAnswer{Schema: answerSchema, Admission: adm.hash, Judge: d.Judge, Dimension: d.Name, Item: item},
				})
			}
		}
	}
	return out, nil
}

func (a *app) answers() ([]judgedAnswer, error) {
	entries, err := a.files().All(store.Answers)
	if err != nil {
		return nil, err
	}
	var out []judgedAnswer
	for _, e := range entries {
		var x judgedAnswer
		if e.Schema != answerSchema {
			continue
		}
		if err := json.Unmarshal(e.Bytes, &x); err != nil {
			return nil, fmt.Errorf("reading an answer: %w", err)
		}
		out = append(out, x)
	}
	return out, nil
}

func (a *app) writeWaiting(list []waiting, all bool) error {
	if a.json() {
		for _, w := range list {
			if err := a.writeJSON(struct {
				Schema string `json:"schema"`
				waiting
			}{"tare.waiting/1", w}); err != nil {
				return err
			}
		}
		return nil
	}
	const few = 3
	shown := map[string]int{}
	for _, w := range list {
		group := ""
		if w.Kind == "judge" {
			group = w.item.Judge + "\x00" + w.item.Dimension
			if shown[group]++; shown[group] > few && !all {
				continue
			}
		}
		answers := strings.Join(w.Answers, " | ")
		if answers == "" {
			answers = "no answer settles it: play it again"
		}
		fmt.Fprintf(a.stdout, "%s  %s\n%s\n            %s\n", w.ID, printable(w.Where), wrapLines("            "+printable(clip(w.Asked, 400)), widthOf(a.stdout)), answers)
	}
	for _, g := range sortedGroups(shown) {
		if n := shown[g] - few; n > 0 && !all {
			_, dimension, _ := strings.Cut(g, "\x00")
			fmt.Fprintf(a.stdout, "and %d more of %s; --all lists them\n", n, printable(dimension))
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(a.stdout, "nothing waits for a person")
	} else {
		fmt.Fprintf(a.stdout, "%s for a person; tare review answer ID ANSWER --by NAME --why REASON\n", many(len(list), "open question"))
	}
	return nil
}

func sortedGroups(m map[string]int) []string {
	var out []string
	for g := range m {
		out = append(out, g)
	}
	slices.Sort(out)
	return out
}

// answer takes a person's answer to what waits under id.
func (a *app) answer(id, answer, by, why string, tasks []string) error {
	list, err := a.waiting(nil, tasks)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(w waiting) bool { return w.ID == id })
	if at < 0 {
		return usage("nothing waits under %q; see 'tare review'", id)
	}
	w := list[at]
	if w.Kind == "judge" {
		return a.answerItem(w, answer, by, why)
	}
	if len(w.Answers) == 0 {
		return usage("no answer settles it: %s; play the episode again", printable(w.Asked))
	}
	if !slices.Contains(w.Answers, answer) {
		return usage("the answer is one of %s, not %q", strings.Join(w.Answers, ", "), answer)
	}
	kept, err := a.files().Find(w.run, w.episode)
	if err != nil {
		return err
	}
	old := kept.Latest()
	record := kept.Record
	ev := *record.Evidence.Scenario // the kept record's list must not grow with ours
	record.Evidence.Scenario = &ev
	further, err := furtherRecord(&record, old.Record, func(r *tare.Record) {
		ev.Reviews = append(slices.Clone(ev.Reviews), tare.Review{Record: old.Record, About: w.question.About, Step: w.question.Step, Answer: answer, By: by, Why: why})
	})
	if err != nil {
		return err
	}
	now := a.judgeAgain(w.task, record, further.Hash, kept, &tare.Correction{Why: why, By: by})
	err = a.amend(w.run, w.episode, further, now)
	if errors.Is(err, store.ErrNotCurrent) {
		return usage("somebody else has just answered of the same episode; see 'tare review' again")
	}
	if err != nil {
		return err
	}
	if kept, err = a.files().Find(w.run, w.episode); err != nil {
		return err
	}
	if a.json() {
		return a.writeJSON(map[string]any{"schema": "tare.review-answer/1", "id": id, "run": w.run, "record": further.Hash, "supersedes": old.Record, "was": old.Outcome, "verdict": now, "counts_as": kept.Verdict().Outcome})
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s becomes %s%s; %d left open\n", printable(w.Where), old.Outcome, now.Outcome, stillCounts(kept), len(now.Unresolved))
	return err
}

func (a *app) answerItem(w waiting, answer, by, why string) error {
	score, err := strconv.ParseFloat(answer, 64)
	if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
		return usage("the answer is a score, a number, not %q", answer)
	}
	x := w.item
	x.Score, x.By, x.Why = score, by, why
	entry, err := tare.NewEntry(x)
	if err != nil {
		return err
	}
	if err := a.files().Put(store.Answers, entry); err != nil {
		return err
	}
	if a.json() {
		return a.writeJSON(map[string]any{"schema": "tare.review-answer/1", "id": w.ID, "entry": entry.Hash, "answer": x})
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %v, by %s\n", printable(w.Where), score, printable(by))
	return err
}
