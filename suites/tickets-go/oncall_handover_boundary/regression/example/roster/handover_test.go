package roster

import "fmt"

func ExampleRoster_OnDuty() {
	day := Roster{Shifts: []Shift{{"Ines", 360, 840}, {"Amir", 840, 1320}}}
	people, _ := day.OnDuty(840)
	fmt.Println(people)
	// Output: [Amir]
}
