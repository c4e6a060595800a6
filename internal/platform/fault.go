package platform

import (
	"encoding/json"
	"slices"
	"time"

	"tare"
)

// FaultKinds lists the faults that the platform can make.
func FaultKinds() []tare.FaultKind {
	return []tare.FaultKind{
		tare.FaultTimeoutBefore, tare.FaultTimeoutAfter, tare.FaultUnavailable, tare.FaultConflict, tare.FaultAmbiguous, tare.FaultFalseSuccess,
		tare.FaultErrorInSuccess, tare.FaultStaleCursor, tare.FaultDuplicatePage, tare.FaultSlow, tare.FaultRevoked,
	}
}

// Suits reports whether a fault of that kind can be injected into calls of tool: a page only into what has pages, what
// leaves a change in doubt only into what changes something. "*" suits them all.
func Suits(kind tare.FaultKind, tool string) bool {
	if tool == "*" {
		return slices.Contains(FaultKinds(), kind)
	}
	form, ok := tools().forms[tool]
	return ok && suits(kind, form)
}

func suits(kind tare.FaultKind, form toolForm) bool {
	switch kind {
	case tare.FaultStaleCursor, tare.FaultDuplicatePage:
		return form.Paged
	case tare.FaultTimeoutBefore, tare.FaultUnavailable, tare.FaultErrorInSuccess:
		return form.Name != "ask_user" && form.Name != "request_consent" && form.Name != "wait"
	case tare.FaultTimeoutAfter, tare.FaultConflict, tare.FaultAmbiguous, tare.FaultFalseSuccess, tare.FaultSlow, tare.FaultRevoked:
		return form.Does != "read"
	}
	return false
}

// A fault is one that is injected into the call under way.
type fault struct {
	spec    tare.FaultSpec
	applied *bool
}

func (f *fault) injected() *tare.Injected {
	return &tare.Injected{ID: f.spec.ID, Kind: f.spec.Kind, Applied: f.applied}
}

// place finds the fault for a call.
func (p *Platform) place(form toolForm, args json.RawMessage) *fault {
	spec, ok := p.faults.Place(form.Name, args, func(k tare.FaultKind) bool { return suits(k, form) })
	if !ok {
		return nil
	}
	return &fault{spec: spec}
}

// inject carries a call out as its fault demands.
func (p *Platform) inject(form toolForm, args json.RawMessage, f *fault) (any, error) {
	if f == nil {
		return p.do(form, args)
	}
	yes, no := true, false
	f.applied = &no
	switch f.spec.Kind {
	case tare.FaultTimeoutBefore:
		return nil, timedOut()
	case tare.FaultTimeoutAfter:
		_, err := p.do(form, args)
		if err == nil {
			f.applied = &yes
		}
		return nil, timedOut()
	case tare.FaultUnavailable:
		after := f.spec.RetryAfter
		if after <= 0 {
			after = 5 * time.Second
		}
		return nil, &refusal{Code: "unavailable", Status: 503, Message: "the service is overloaded; try again later", Retryable: true, RetryAfter: after.Seconds()}
	case tare.FaultConflict:
		return nil, refuse(409, "conflict", "it was changed by somebody else in the meantime; read it again before you change it")
	case tare.FaultAmbiguous:
		if f.spec.Applied {
			if _, err := p.do(form, args); err != nil {
				return nil, err
			}
			f.applied = &yes
		}
		return map[string]any{"acknowledgement": map[string]any{"status": "received", "message": "the request was received; whether it was carried out is not known"}}, nil
	case tare.FaultFalseSuccess:
		return p.dryRun(form, args)
	case tare.FaultErrorInSuccess:
		return nil, refuse(500, "internal", "the request could not be carried out")
	case tare.FaultStaleCursor:
		return nil, refuse(410, "stale_cursor", "the list has changed since this cursor was made; begin again without one")
	case tare.FaultDuplicatePage:
		return p.pageAgain(form, args)
	case tare.FaultSlow:
		if p.slower = f.spec.Slower; p.slower <= 0 {
			p.slower = 10 * time.Minute
		}
	case tare.FaultRevoked:
		me := find(p.principals, p.spec.As)
		for acct := range me.Roles {
			me.Roles[acct] = viewer
		}
		return nil, refuse(403, "permission_revoked", "the permission to change anything has been revoked")
	}
	out, err := p.do(form, args)
	if err == nil {
		f.applied = &yes
	}
	return out, err
}

func timedOut() error {
	return &refusal{Code: "timeout", Status: 504, Message: "there was no answer within 30 seconds; whether the request was carried out is not known"}
}

// dryRun is the answer that the call would have had; nothing of it stays.
func (p *Platform) dryRun(form toolForm, args json.RawMessage) (any, error) {
	kept := p.state
	p.state = kept.clone()
	out, err := p.do(form, args)
	p.state = kept
	return out, err
}
