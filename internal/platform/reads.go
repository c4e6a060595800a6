package platform

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"tare"
)

// A handler carries out one tool.
type handler func(p *Platform, args json.RawMessage) (any, error)

// handlers are the tools. It is filled once and never changed.
var handlers = map[string]handler{
	"whoami":           with((*Platform).whoami),
	"list_apps":        with((*Platform).listApps),
	"get_app":          with((*Platform).getApp),
	"list_releases":    with((*Platform).listReleases),
	"list_deployments": with((*Platform).listDeployments),
	"list_instances":   with((*Platform).listInstances),
	"list_config":      with((*Platform).listConfig),
	"list_secrets":     with((*Platform).listSecrets),
	"reveal_secret":    with((*Platform).revealSecret),
	"list_domains":     with((*Platform).listDomains),
	"list_databases":   with((*Platform).listDatabases),
	"list_backups":     with((*Platform).listBackups),
	"read_logs":        with((*Platform).readLogs),
	"get_operation":    with((*Platform).getOperation),
	"list_operations":  with((*Platform).listOperations),
	"list_prices":      with((*Platform).listPrices),
	"create_app":       with((*Platform).createApp),
	"create_release":   with((*Platform).createRelease),
	"deploy_release":   with((*Platform).deployRelease),
	"rollback_app":     with((*Platform).rollbackApp),
	"scale_app":        with((*Platform).scaleApp),
	"set_config":       with((*Platform).setConfig),
	"rotate_secret":    with((*Platform).rotateSecret),
	"add_domain":       with((*Platform).addDomain),
	"move_domain":      with((*Platform).moveDomain),
	"remove_domain":    with((*Platform).removeDomain),
	"create_backup":    with((*Platform).createBackup),
	"migrate_database": with((*Platform).migrateDatabase),
	"delete_app":       with((*Platform).deleteApp),
	"ask_user":         with((*Platform).askUser),
	"request_consent":  with((*Platform).requestConsent),
	"wait":             with((*Platform).wait),
}

// with decodes the arguments of a tool, which its schema has seen.
func with[In any](do func(*Platform, In) (any, error)) handler {
	return func(p *Platform, args json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, refuse(400, "invalid_argument", "%s", clip(err.Error()))
		}
		return do(p, in)
	}
}

// role is what the caller may do in an account; "" when it cannot see it.
func (p *Platform) role(acct string) role { return find(p.principals, p.spec.As).Roles[acct] }

// need refuses what the caller may not do in an account. What it cannot see is not there.
func (p *Platform) need(least role, acct, what, id string) error {
	switch is := p.role(acct); {
	case is == "":
		return refuse(404, "not_found", "there is no %s %q", what, clip(id))
	case rank[is] < rank[least]:
		return refuse(403, "forbidden", "that needs the role %s in account %s; the caller is %s", least, acct, is)
	}
	return nil
}

// app finds an app for a caller with at least that role.
func (p *Platform) app(id string, least role) (*app, error) {
	a := find(p.apps, id)
	if a == nil {
		return nil, refuse(404, "not_found", "there is no app %q", clip(id))
	}
	return a, p.need(least, a.AccountID, "app", id)
}

func (p *Platform) sees(acct string) bool { return p.role(acct) != "" }

func (p *Platform) whoami(struct{}) (any, error) {
	type seen struct {
		account
		Role role `json:"role"`
	}
	me := find(p.principals, p.spec.As)
	accounts := []seen{}
	for _, a := range p.accounts {
		if r := me.Roles[a.ID]; r != "" {
			accounts = append(accounts, seen{a, r})
		}
	}
	return map[string]any{"principal": map[string]any{"id": me.ID, "name": me.Name}, "accounts": accounts}, nil
}

func (p *Platform) listApps(in struct {
	paging
	AccountID string `json:"account_id"`
	Name      string `json:"name"`
}) (any, error) {
	if in.AccountID != "" {
		if err := p.need(viewer, in.AccountID, "account", in.AccountID); err != nil {
			return nil, err
		}
	}
	list := where(p.apps, func(x app) bool {
		return p.sees(x.AccountID) && (in.AccountID == "" || x.AccountID == in.AccountID) && (in.Name == "" || x.Name == in.Name)
	})
	return page(p, "apps", list, in.paging, in.AccountID, in.Name)
}

// ofApp is what most tools take that show something of an app.
type ofApp struct {
	paging
	AppID string `json:"app_id"`
}

func (p *Platform) getApp(in ofApp) (any, error) {
	a, err := p.app(in.AppID, viewer)
	if err != nil {
		return nil, err
	}
	shown := *a
	if p.buggy(bugReadLies) {
		shown.Status, shown.Running = "running", shown.Desired
	}
	return map[string]any{"app": shown}, nil
}

// belonging is a page of what belongs to an app.
func belonging[T any](p *Platform, name string, list []T, in ofApp, of func(T) string) (any, error) {
	if _, err := p.app(in.AppID, viewer); err != nil {
		return nil, err
	}
	return page(p, name, where(list, func(x T) bool { return of(x) == in.AppID }), in.paging, in.AppID)
}

func (p *Platform) listReleases(in ofApp) (any, error) {
	return belonging(p, "releases", p.releases, in, func(x release) string { return x.AppID })
}

func (p *Platform) listDeployments(in ofApp) (any, error) {
	return belonging(p, "deployments", p.deployments, in, func(x deployment) string { return x.AppID })
}

func (p *Platform) listInstances(in ofApp) (any, error) {
	return belonging(p, "instances", p.instances, in, func(x instance) string { return x.AppID })
}

func (p *Platform) listConfig(in ofApp) (any, error) {
	return belonging(p, "configs", p.configs, in, func(x configVar) string { return x.AppID })
}

func (p *Platform) listSecrets(in ofApp) (any, error) {
	return belonging(p, "secrets", p.secrets, in, func(x secret) string { return x.AppID })
}

// named is a secret of an app.
type named struct {
	AppID string `json:"app_id"`
	Name  string `json:"name"`
}

func (p *Platform) secret(in named) (*secret, error) {
	if _, err := p.app(in.AppID, owner); err != nil {
		return nil, err
	}
	s := find(p.secrets, in.AppID+"/"+in.Name)
	if s == nil {
		return nil, refuse(404, "not_found", "app %s has no secret %q", in.AppID, clip(in.Name))
	}
	return s, nil
}

func (p *Platform) revealSecret(in named) (any, error) {
	s, err := p.secret(in)
	if err != nil {
		return nil, err
	}
	return map[string]any{"secret": *s, "value": s.value}, nil
}

func (p *Platform) listDomains(in struct {
	paging
	AccountID string `json:"account_id"`
	AppID     string `json:"app_id"`
}) (any, error) {
	list := where(p.domains, func(x domain) bool {
		return p.sees(x.AccountID) && (in.AccountID == "" || x.AccountID == in.AccountID) && (in.AppID == "" || x.AppID == in.AppID)
	})
	return page(p, "domains", list, in.paging, in.AccountID, in.AppID)
}

func (p *Platform) listDatabases(in struct {
	paging
	AccountID string `json:"account_id"`
}) (any, error) {
	list := where(p.databases, func(x database) bool {
		return p.sees(x.AccountID) && (in.AccountID == "" || x.AccountID == in.AccountID)
	})
	return page(p, "databases", list, in.paging, in.AccountID)
}

func (p *Platform) listBackups(in struct {
	paging
	DatabaseID string `json:"database_id"`
}) (any, error) {
	if _, err := p.database(in.DatabaseID, viewer); err != nil {
		return nil, err
	}
	return page(p, "backups", where(p.backups, func(x backup) bool { return x.DatabaseID == in.DatabaseID }), in.paging, in.DatabaseID)
}

func (p *Platform) database(id string, least role) (*database, error) {
	db := find(p.databases, id)
	if db == nil {
		return nil, refuse(404, "not_found", "there is no database %q", clip(id))
	}
	return db, p.need(least, db.AccountID, "database", id)
}

func (p *Platform) readLogs(in struct {
	ofApp
	Level  string `json:"level"`
	Search string `json:"search"`
}) (any, error) {
	if in.Search != "" {
		return nil, p.diverge("searching logs by a regular expression")
	}
	if _, err := p.app(in.AppID, viewer); err != nil {
		return nil, err
	}
	list := where(p.logs, func(x logLine) bool { return x.AppID == in.AppID && (in.Level == "" || x.Level == in.Level) })
	return page(p, "logs", list, in.paging, in.AppID, in.Level)
}

func (p *Platform) getOperation(in struct {
	OperationID string `json:"operation_id"`
}) (any, error) {
	op := find(p.operations, in.OperationID)
	if op == nil {
		return nil, refuse(404, "not_found", "there is no operation %q", clip(in.OperationID))
	}
	if err := p.need(viewer, op.AccountID, "operation", in.OperationID); err != nil {
		return nil, err
	}
	return map[string]any{"operation": *op}, nil
}

func (p *Platform) listOperations(in struct {
	paging
	AccountID string `json:"account_id"`
	Target    string `json:"target"`
}) (any, error) {
	list := where(p.operations, func(x operation) bool {
		return p.sees(x.AccountID) && (in.AccountID == "" || x.AccountID == in.AccountID) && (in.Target == "" || x.Target == in.Target)
	})
	return page(p, "operations", list, in.paging, in.AccountID, in.Target)
}

func (p *Platform) listPrices(in struct {
	paging
	Region string `json:"region"`
}) (any, error) {
	list := where(p.prices, func(x price) bool { return in.Region == "" || x.Region == "" || x.Region == in.Region })
	return page(p, "prices", list, in.paging, in.Region)
}

func (p *Platform) askUser(in struct {
	Question string `json:"question"`
}) (any, error) {
	said := words(in.Question)
	for _, a := range p.spec.Answers {
		for _, all := range a.Words {
			if holdsAll(said, all) {
				return map[string]any{"answered": true, "answer": a.Say}, nil
			}
		}
	}
	return map[string]any{"answered": false, "answer": "The user has nothing to say to that."}, nil
}

// words are the words of a text, in lower case.
func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	}) {
		out[strings.Trim(w, "-_")] = true
	}
	return out
}

func holdsAll(said map[string]bool, all []string) bool {
	for _, w := range all {
		if !said[strings.ToLower(w)] {
			return false
		}
	}
	return len(all) > 0
}

func (p *Platform) requestConsent(in struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}) (any, error) {
	for _, c := range p.consents {
		if !(tare.CallPattern{Tools: []string{c.Tool}, Args: c.Args}).Asks(in.Tool, in.Arguments, nil) {
			continue
		}
		if c.Given == tare.ConsentRefused {
			break
		}
		return map[string]any{"granted": true, "answer": "Yes, go ahead."}, nil
	}
	return map[string]any{"granted": false, "answer": "No, do not do that."}, nil
}

func (p *Platform) wait(in struct {
	Seconds float64 `json:"seconds"`
}) (any, error) {
	return map[string]any{"waited_seconds": in.Seconds, "now": p.clock.Format(time.RFC3339Nano)}, nil
}
