package platform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare"
)

// A StartError is a problem of a start state, at the item that has it.
type StartError struct {
	Collection string // "" when it is the whole state's
	Index      int
	Message    string
}

func (e *StartError) Error() string {
	if e.Collection == "" {
		return e.Message
	}
	return fmt.Sprintf("%s[%d]: %s", e.Collection, e.Index, e.Message)
}

// Forms of a start state that say more than the nouns show.
type (
	releaseForm struct {
		release
		Fails string `json:"fails"` // why it does not start
	}
	secretForm struct {
		secret
		Value string `json:"value"`
	}
)

// A startReader fills a state and notes what is wrong with what it reads.
type startReader struct {
	*state
	problems []*StartError
	ids      map[string]bool
}

// CheckStart reports what is wrong with a start state, in the order of the collections.
func CheckStart(start json.RawMessage) []*StartError {
	_, problems := readStart(start, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return problems
}

// readStart is the state that a scenario begins with. What it does not write follows from what it does: the account of what
// belongs to an app, the instances of an app that runs, the deployments of its releases up to the current one.
func readStart(start json.RawMessage, clock time.Time) (*state, []*StartError) {
	r := &startReader{state: &state{clock: clock}, ids: map[string]bool{}}
	var all map[string][]json.RawMessage
	if err := json.Unmarshal(start, &all); err != nil {
		return nil, []*StartError{{Message: "a start state is a mapping of collections, each a list: " + err.Error()}}
	}
	known := Collections()
	for name := range all {
		if !slices.Contains(known, name) {
			r.problems = append(r.problems, &StartError{Message: fmt.Sprintf("there is no collection %q; there are %s", name, strings.Join(known, ", "))})
		}
	}
	old := clock.Add(-24 * time.Hour)
	read(r, all, "accounts", &r.accounts, func(x *account) string {
		x.Name, x.MaxInstances = cmp.Or(x.Name, x.ID), cmp.Or(x.MaxInstances, 10)
		return ""
	})
	read(r, all, "principals", &r.principals, r.principal)
	read(r, all, "apps", &r.apps, func(x *app) string {
		x.CreatedAt, x.Plan, x.Region, x.Status = since(x.CreatedAt, old), cmp.Or(x.Plan, "small"), cmp.Or(x.Region, "eu-north"), cmp.Or(x.Status, "new")
		x.URL = cmp.Or(x.URL, "https://"+x.Name+".apps.example")
		return cmp.Or(r.inAccount(x.AccountID), oneOf("status", x.Status, "new", "running", "failed"), oneOf("region", x.Region, "eu-north", "eu-west", "us-east"), present("name", x.Name))
	})
	var releases []releaseForm
	read(r, all, "releases", &releases, func(x *releaseForm) string {
		x.CreatedAt, x.Version = since(x.CreatedAt, old), cmp.Or(x.Version, 1)
		x.fails = x.Fails
		return cmp.Or(r.inApp(x.AppID, &x.AccountID), present("image", x.Image))
	})
	for _, x := range releases {
		r.releases = append(r.releases, x.release)
	}
	for i, x := range r.apps {
		if rel := find(r.releases, x.Current); x.Current != "" && (rel == nil || rel.AppID != x.ID) {
			r.fail("apps", i, "it has no release %q", x.Current)
		} else if x.Current == "" && x.Status != "new" {
			r.fail("apps", i, "an app that is %s has a current_release_id", x.Status)
		}
	}
	r.belongings(all, old)
	r.implied(old)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	for i := range r.apps {
		r.count(&r.apps[i])
	}
	return r.state, nil
}

// belongings reads what belongs to apps and accounts.
func (r *startReader) belongings(all map[string][]json.RawMessage, old time.Time) {
	read(r, all, "deployments", &r.deployments, func(x *deployment) string {
		x.CreatedAt, x.Kind = since(x.CreatedAt, old), cmp.Or(x.Kind, "deploy")
		return cmp.Or(r.inApp(x.AppID, &x.AccountID), oneOf("state", x.State, "running", "failed", "superseded"), r.isRelease(x.ReleaseID))
	})
	read(r, all, "instances", &r.instances, func(x *instance) string {
		x.CreatedAt, x.Region = since(x.CreatedAt, old), cmp.Or(x.Region, "eu-north")
		return cmp.Or(r.inApp(x.AppID, &x.AccountID), oneOf("state", x.State, "running", "failed"), r.isRelease(x.ReleaseID))
	})
	read(r, all, "configs", &r.configs, func(x *configVar) string {
		x.UpdatedAt, x.ID = since(x.UpdatedAt, old), x.AppID+"/"+x.Key
		return cmp.Or(r.inApp(x.AppID, &x.AccountID), present("key", x.Key))
	})
	var secrets []secretForm
	read(r, all, "secrets", &secrets, func(x *secretForm) string {
		x.RotatedAt, x.Version, x.ID = since(x.RotatedAt, old), cmp.Or(x.Version, 1), x.AppID+"/"+x.Name
		x.value, x.Fingerprint = x.Value, fingerprint(x.Value)
		return cmp.Or(r.inApp(x.AppID, &x.AccountID), present("name", x.Name), present("value", x.Value))
	})
	for _, x := range secrets {
		r.secrets = append(r.secrets, x.secret)
	}
	read(r, all, "domains", &r.domains, func(x *domain) string {
		x.CreatedAt, x.State = since(x.CreatedAt, old), cmp.Or(x.State, "active")
		return cmp.Or(r.inApp(x.AppID, &x.AccountID), present("hostname", x.Hostname), oneOf("state", x.State, "active"))
	})
	read(r, all, "databases", &r.databases, func(x *database) string {
		x.CreatedAt, x.State, x.Engine = since(x.CreatedAt, old), cmp.Or(x.State, "available"), cmp.Or(x.Engine, "postgres")
		return cmp.Or(r.inAccount(x.AccountID), oneOf("state", x.State, "available"), present("name", x.Name))
	})
	read(r, all, "backups", &r.backups, func(x *backup) string {
		x.CreatedAt, x.State = since(x.CreatedAt, old), cmp.Or(x.State, "completed")
		db := find(r.databases, x.DatabaseID)
		if db == nil {
			return fmt.Sprintf("there is no database %q", x.DatabaseID)
		}
		x.AccountID = db.AccountID
		return oneOf("state", x.State, "completed")
	})
	read(r, all, "logs", &r.logs, func(x *logLine) string {
		x.At, x.Level = since(x.At, old), cmp.Or(x.Level, "info")
		return cmp.Or(r.inApp(x.AppID, &x.AccountID), oneOf("level", x.Level, "info", "error"))
	})
	read(r, all, "operations", &r.operations, func(x *operation) string {
		x.CreatedAt = since(x.CreatedAt, old)
		return cmp.Or(r.inAccount(x.AccountID), oneOf("state", x.State, "succeeded", "failed"))
	})
	read(r, all, "prices", &r.prices, func(x *price) string { return present("item", x.Item) })
}

// implied adds instances and deployments of apps for which none are written.
func (r *startReader) implied(old time.Time) {
	for i := range r.apps {
		a := &r.apps[i]
		if a.Status == "new" || len(r.problems) > 0 {
			continue
		}
		word := a.Status // running, failed: of instances and deployments too
		if !slices.ContainsFunc(r.instances, func(x instance) bool { return x.AppID == a.ID }) {
			for n := range a.Desired {
				r.instances = append(r.instances, instance{ID: fmt.Sprintf("ins_%s_%d", a.ID, n+1), AppID: a.ID, AccountID: a.AccountID, ReleaseID: a.Current, State: word, Region: a.Region, CreatedAt: old})
			}
		}
		if slices.ContainsFunc(r.deployments, func(x deployment) bool { return x.AppID == a.ID }) {
			continue
		}
		current := find(r.releases, a.Current)
		for _, rel := range r.releases {
			if rel.AppID != a.ID || rel.Version > current.Version {
				continue
			}
			d := deployment{ID: "dep_" + rel.ID, AppID: a.ID, AccountID: a.AccountID, ReleaseID: rel.ID, Kind: "deploy", State: "superseded", CreatedAt: rel.CreatedAt, FinishedAt: rel.CreatedAt}
			if rel.ID == a.Current {
				d.State = word
			}
			r.deployments = append(r.deployments, d)
		}
	}
}

// read decodes one collection, lets check complete each item and say what is wrong with it, and sees to it that ids are
// there and differ.
func read[T interface{ id() string }](r *startReader, all map[string][]json.RawMessage, name string, to *[]T, check func(*T) string) {
	for i, raw := range all[name] {
		var x T
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&x); err != nil {
			r.fail(name, i, "%s", strings.TrimPrefix(err.Error(), "json: "))
			continue
		}
		why := check(&x)
		switch id := x.id(); {
		case why != "":
			r.fail(name, i, "%s", why)
		case id == "":
			r.fail(name, i, "it has no id")
		case r.ids[id]:
			r.fail(name, i, "the id %q is here twice", id)
		default:
			r.ids[id] = true
		}
		*to = append(*to, x)
	}
}

func (r *startReader) fail(collection string, i int, format string, args ...any) {
	r.problems = append(r.problems, &StartError{collection, i, fmt.Sprintf(format, args...)})
}

func (r *startReader) principal(x *principal) string {
	x.Name = cmp.Or(x.Name, x.ID)
	for acct, is := range x.Roles {
		if why := cmp.Or(r.inAccount(acct), oneOf("role", string(is), "viewer", "deployer", "owner")); why != "" {
			return why
		}
	}
	return ""
}

func (r *startReader) inAccount(id string) string {
	if find(r.accounts, id) == nil {
		return fmt.Sprintf("there is no account %q", id)
	}
	return ""
}

// inApp also fills in the account of what belongs to the app.
func (r *startReader) inApp(id string, acct *string) string {
	a := find(r.apps, id)
	if a == nil {
		return fmt.Sprintf("there is no app %q", id)
	}
	*acct = a.AccountID
	return ""
}

func (r *startReader) isRelease(id string) string {
	if find(r.releases, id) == nil {
		return fmt.Sprintf("there is no release %q", id)
	}
	return ""
}

func oneOf(what, word string, words ...string) string {
	if slices.Contains(words, word) {
		return ""
	}
	return fmt.Sprintf("%s is %q; at the start it can be %s", what, word, strings.Join(words, ", "))
}

func present(what, text string) string {
	if text == "" {
		return "it has no " + what
	}
	return ""
}

func since(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t.UTC()
}

func fingerprint(value string) string {
	return strings.TrimPrefix(string(tare.HashBytes([]byte("secret:"+value))), "sha256:")[:12]
}
