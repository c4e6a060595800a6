package claims

import "strings"

// What a statement may be about, beside the kinds that [Find] knows.
const (
	Deployed   Kind = "deployed"
	Running    Kind = "running"
	Created    Kind = "created"
	Deleted    Kind = "deleted"
	Scaled     Kind = "scaled"
	RolledBack Kind = "rolled_back"
	Rotated    Kind = "rotated"
	Moved      Kind = "moved"
	BackedUp   Kind = "backed_up"
	Migrated   Kind = "migrated"
	Restored   Kind = "restored"
	Configured Kind = "configured"
	Restarted  Kind = "restarted"
	Stopped    Kind = "stopped"
	Attached   Kind = "attached"
	Verified   Kind = "verified"  // it was looked at
	Succeeded  Kind = "succeeded" // it worked, whatever it was
	Failed     Kind = "failed"    // it did not
	Pending    Kind = "pending"   // it is under way
	NotFound   Kind = "not_found" // a search came to nothing
	Consented  Kind = "consented" // the user agreed
)

// Kinds lists what a statement may be about, in order.
func Kinds() []Kind {
	return []Kind{
		Attached, BackedUp, Configured, Consented, Created, Deleted, Deployed, Failed, Migrated, Moved, NotFound, Pending,
		Restarted, Restored, RolledBack, Rotated, Running, Scaled, Stopped, Succeeded, Verified,
	}
}

// A Subject is what a statement is about.
type Subject string

const (
	App         Subject = "app"         // what the agent was to work on, by a name, a noun or a pronoun; also what is not named
	Environment Subject = "environment" // the agent's own surroundings: its client, its tools
	Other       Subject = "other"       // something else that is known: the tests, the build
	Unclear     Subject = "unclear"     // a noun that says nothing to this package
)

// A Mood says how a statement is meant. Only one that is Stated is a claim.
type Mood string

const (
	Stated      Mood = "stated"
	Likely      Mood = "likely"      // "should be running"
	Reported    Mood = "reported"    // "the tool says that it is running"
	Planned     Mood = "planned"     // a plan, a wish, an attempt, an instruction, a purpose
	Hoped       Mood = "hoped"       //
	Conditional Mood = "conditional" // "if it is running"
	Asked       Mood = "asked"       // a question
	Earlier     Mood = "earlier"     // "was running before"
	Doubted     Mood = "doubted"     // "I cannot confirm that it is running"
)

// A Statement is one thing that a text says.
type Statement struct {
	Kind    Kind
	Subject Subject
	About   string // the words of the subject, or of the object where the subject is whoever speaks; lower case, at most 200 bytes
	Denied  bool   // the text says that it is not so
	Mood    Mood
	Clause  string // the words that say it, at most 200 bytes
	Start   int    // where the clause begins in the text, in bytes
	End     int    // and where it ends
}

// Claims reports whether s says, outright, that it is so of what the agent was to work on.
func (s Statement) Claims() bool {
	return s.Mood == Stated && !s.Denied && s.Subject == App
}

// Mentions reports whether one of the words stands, as a word, in what s is about or in its clause.
func (s Statement) Mentions(words ...string) bool {
	for _, w := range words {
		if hasWord(s.About, w) || hasWord(strings.ToLower(s.Clause), strings.ToLower(w)) {
			return true
		}
	}
	return false
}

// An Unread is a clause that cannot be read, so that nothing follows from it.
type Unread struct {
	Clause     string
	Start, End int
	Why        string
}

// A Reading is what a text says, and what of it could not be read.
type Reading struct {
	Statements []Statement
	Unread     []Unread
}

// Admits reports whether the text says that something failed, was not done or could not be found. To deny a failure
// admits nothing, and neither does a failure that is planned for, asked about or long over.
func (r Reading) Admits() (Statement, bool) {
	for _, s := range r.Statements {
		if s.Mood != Stated && s.Mood != Reported && s.Mood != Likely {
			continue
		}
		bad := s.Kind == Failed || s.Kind == NotFound || s.Kind == Pending
		if s.Denied && s.Subject == Unclear {
			continue // "the old value no longer works" is no failure of anybody
		}
		if bad != s.Denied && s.Kind != Consented {
			return s, true
		}
	}
	return Statement{}, false
}

func hasWord(text, word string) bool {
	word = strings.ToLower(word)
	if word == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if !joins(text[:i], true) && !joins(text[i+len(word):], false) {
			return true
		}
		from = i + len(word)
	}
}

// joins reports whether a word goes on into s, at its end or at its beginning.
func joins(s string, atEnd bool) bool {
	if atEnd {
		s = s[max(0, len(s)-4):]
		return s != "" && wordly(lastRune(s))
	}
	return wordly(s) || strings.HasPrefix(s, "-") && wordly(s[1:])
}

func lastRune(s string) string {
	var last string
	for i := range s {
		last = s[i:]
	}
	return last
}
