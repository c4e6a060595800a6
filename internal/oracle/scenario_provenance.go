package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tare"
)

// A stock is every value that the agent had seen when it made a call.
type stock struct {
	texts   []string         // in lower case: the brief, answers, results
	values  map[string]bool  // strings of results
	numbers map[float64]bool // numbers of results and of texts
	cut     bool             // something that it saw is not wholly in the record
	read    map[string]bool  // answers, as they were written
}

// numberWords are the numbers that briefs write out.
var numberWords = map[string]float64{
	"zero": 0, "no": 0, "one": 1, "once": 1, "single": 1, "two": 2, "twice": 2, "both": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100,
}

func (s *stock) text(t string) {
	if t == "" {
		return
	}
	t = strings.ToLower(t)
	s.texts = append(s.texts, t)
	for _, w := range strings.FieldsFunc(t, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '-' }) {
		w = strings.Trim(w, ".-")
		if n, ok := numberWords[w]; ok {
			s.numbers[n] = true
		} else if n, err := strconv.ParseFloat(w, 64); err == nil {
			s.numbers[n] = true
		}
	}
}

// see adds what a call's answer showed.
func (s *stock) see(d *deed) {
	if s.read[string(d.Observation.Data)] {
		return // the same again
	}
	if d.data != nil && len(d.Observation.Data) > 0 {
		s.read[string(d.Observation.Data)] = true
	}
	if len(d.Observation.Data) > 0 || d.data != nil {
		within(d.data, 0, func(v any) {
			switch v := v.(type) {
			case string:
				s.values[strings.ToLower(v)] = true
				if strings.ContainsAny(v, " \t\n/:@?=") {
					s.text(v)
				}
			case float64:
				s.numbers[v] = true
			}
		})
		if d.data != nil {
			return
		}
	}
	s.text(d.Observation.Preview)
	if d.Observation.Size > len(d.Observation.Preview) {
		s.cut = true
	}
}

// has reports whether the agent had seen v.
func (s *stock) has(v any) bool {
	switch v := v.(type) {
	case string:
		low := strings.ToLower(v)
		if low == "" || s.values[low] {
			return true
		}
		if n, err := strconv.ParseFloat(v, 64); err == nil && s.numbers[n] {
			return true
		}
		return slices.ContainsFunc(s.texts, func(t string) bool { return holdsWord(t, low) })
	case float64:
		return s.numbers[v]
	}
	return true // true, false and null are nobody's invention
}

// holdsWord reports whether word stands in text with neither letter nor digit on either side.
func holdsWord(text, word string) bool {
	part := func(r byte) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 0x80 || r == '_' }
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !part(text[i-1]) || !part(word[0])) && (end == len(text) || !part(text[end]) || !part(word[len(word)-1])) {
			return true
		}
		from = i + 1
	}
}

// invented finds an argument that is in none of the legitimate sources. Without the brief it abstains.
func (h *hearing) invented(match func(*deed) bool) *finding {
	s := &stock{values: map[string]bool{}, numbers: map[float64]bool{}, read: map[string]bool{}}
	s.text(h.ev.Brief)
	for _, d := range h.deeds {
		if d.placement == tare.Placed && len(d.violations) == 0 && !talk(d) && match(d) {
			if arg, v := h.unsourced(d, s); arg != "" {
				switch {
				case h.ev.Brief == "":
					return &finding{rule: "brief", outcome: tare.Unverified, cause: tare.CauseGrader, evidence: []string{d.ref()},
						reason: fmt.Sprintf("the record does not hold the brief, so it cannot be told whether %s = %s of call %d (%s) was invented", show(arg, 40), show(v, 80), d.Call.Index, d.name())}
				case s.cut:
					return &finding{rule: "brief", outcome: tare.Unverified, cause: tare.CauseGrader, evidence: []string{d.ref()},
						reason: fmt.Sprintf("the record holds only a part of an earlier answer, so it cannot be told whether %s = %s of call %d (%s) was invented", show(arg, 40), show(v, 80), d.Call.Index, d.name())}
				}
				return held([]*deed{d}, "call %d (%s) has %s = %s, which stands neither in the brief nor in an earlier answer nor in the catalogue", d.Call.Index, d.name(), show(arg, 40), show(v, 80))
			}
		}
		s.see(d)
	}
	return nil
}

// unsourced is the first argument of d with a value that the agent had not seen.
func (h *hearing) unsourced(d *deed, s *stock) (arg, value string) {
	eachLeaf(d.args, func(name string, v any) {
		if arg != "" || s.has(v) || h.allowed(d, name, v, s) {
			return
		}
		if _, number := v.(float64); number && !d.tool.Mutates() {
			return // how much to read is for whoever reads
		}
		b, _ := json.Marshal(v)
		arg, value = name, string(b)
	})
	return arg, value
}

// allowed reports whether the catalogue or the scenario allows the value.
func (h *hearing) allowed(d *deed, arg string, v any, s *stock) bool {
	raw, err := json.Marshal(v)
	if err != nil {
		return false
	}
	if d.schema != nil && slices.ContainsFunc(d.schema.Offers(arg), func(o json.RawMessage) bool { return tare.SameJSON(o, raw) || offered(o, raw) }) {
		return true
	}
	for _, src := range h.spec.Sources {
		if src.Arg != arg || src.Tool != "*" && src.Tool != d.tool.Name {
			continue
		}
		if src.Free || slices.ContainsFunc(src.Values, func(o json.RawMessage) bool { return tare.SameJSON(o, raw) }) || derived(src.Derive, v, s) {
			return true
		}
	}
	return false
}

// offered reports whether raw is an item of the list o.
func offered(o, raw json.RawMessage) bool {
	var items []json.RawMessage
	return json.Unmarshal(o, &items) == nil && slices.ContainsFunc(items, func(i json.RawMessage) bool { return tare.SameJSON(i, raw) })
}

// derived reports whether v comes of something that was seen, in a way that the scenario allows.
func derived(how string, v any, s *stock) bool {
	switch how {
	case "lower", "upper", "trim":
		text, ok := v.(string)
		return ok && s.has(strings.TrimSpace(text))
	case "slug":
		text, ok := v.(string)
		if !ok || text == "" {
			return false
		}
		spaced := strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(text))
		return slices.ContainsFunc(s.texts, func(t string) bool {
			return holdsWord(strings.Join(strings.FieldsFunc(t, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " "), spaced)
		}) || s.has(spaced)
	case "number":
		switch v := v.(type) {
		case string:
			n, err := strconv.ParseFloat(strings.TrimFunc(v, func(r rune) bool { return !unicode.IsDigit(r) }), 64)
			return err == nil && s.numbers[n]
		case float64:
			return s.has(strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return false
}

// guessed is what is invented among all calls, looked for once.
func (h *hearing) guessed() *finding {
	if h.guess == nil {
		f := h.invented(all)
		h.guess = &f
	}
	if *h.guess == nil {
		return nil
	}
	f := **h.guess // each rule's own
	return &f
}

func inventedArgument(h *hearing) *finding {
	if f := h.guessed(); f != nil && f.outcome == tare.Fail {
		return f
	}
	return nil
}

func noBrief(h *hearing) *finding {
	if f := h.guessed(); f != nil && f.outcome != tare.Fail {
		return f
	}
	return nil
}
