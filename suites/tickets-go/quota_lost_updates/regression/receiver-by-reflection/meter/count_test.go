package meter

import (
	"reflect"
	"testing"
)

func TestUsageIsChangedInPlace(t *testing.T) {
	if kind := reflect.TypeOf(New(0)).Elem().Field(1).Type.Elem().Kind(); kind != reflect.Pointer {
		t.Errorf("the map holds values of kind %s", kind)
	}
}
