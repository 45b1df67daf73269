package api

import "reflect"

// Sent is a field of a parameter struct that gets all parameters of the request, whether the struct declares them or not: those
// of the path, the query and the body, in the types of encoding/json. A file is nil.
type Sent map[string]any

var sentType = reflect.TypeFor[Sent]()
