package errs

// Fields collects validation messages in the order they are found. The zero
// value is empty and ready; Err is nil as long as nothing was added.
type Fields []Field

// Add records one message for an attribute.
func (f *Fields) Add(name, message string) {
	for i := range *f {
		if (*f)[i].Name == name {
			(*f)[i].Messages = append((*f)[i].Messages, message)
			return
		}
	}
	*f = append(*f, Field{Name: name, Messages: []string{message}})
}

// Check records the message when ok is false.
func (f *Fields) Check(ok bool, name, message string) {
	if !ok {
		f.Add(name, message)
	}
}

// Err gives an Invalid error with everything collected, or nil.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Fields: f}
}
