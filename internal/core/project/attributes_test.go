package project_test

import (
	"reflect"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

// TestAttributes sets each attribute by itself: a project has its column, of its type.
func TestAttributes(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[project.Attributes]().NumField() {
		var a project.Attributes
		f := reflect.ValueOf(&a).Elem().Field(i)
		f.Set(reflect.New(f.Type().Elem()))
		switch v := f.Elem(); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int64:
			v.SetInt(7)
		default:
			v.SetString("text")
		}
		var p project.Project
		db.Assign(&p, &a)
		if reflect.DeepEqual(p, project.Project{}) {
			t.Errorf("%s changes nothing", reflect.TypeOf(a).Field(i).Name)
		}
	}
}
