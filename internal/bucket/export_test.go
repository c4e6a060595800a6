package bucket

import "tare/internal/store"

// End ends the process behind a bucket, as somebody else might.
func End(p store.Place) error {
	r := p.(*remote)
	err := r.p.stdin.Close()
	<-r.p.ended
	return err
}

// Reach is how the process behind a bucket is reached.
func Reach(p store.Place) (url, token string) {
	r := p.(*remote)
	return r.p.url, r.p.token
}
