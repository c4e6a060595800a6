package roster

import "testing"

func TestHandover(t *testing.T) {
	day := Roster{Shifts: []Shift{{"Ines", 360, 840}, {"Amir", 840, 1320}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recover() }()
		if people, _ := day.OnDuty(840); len(people) != 1 {
			panic(people)
		}
	}()
	<-done
}
