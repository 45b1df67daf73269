package api

import "reflect"

// Made is a pointer to parameters whose struct is made when the program starts, from a table: Declare
// returns the struct type with the tags of parameters, and Take gets a value of it.
type Made interface {
	Declare() reflect.Type
	Take(v reflect.Value)
}

var madeType = reflect.TypeFor[Made]()

// declared returns the struct type that declares parameters of a type.
func declared(t reflect.Type) reflect.Type {
	if reflect.PointerTo(t).Implements(madeType) {
		return reflect.New(t).Interface().(Made).Declare()
	}
	return t
}
