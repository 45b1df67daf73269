package ciconfig

import (
	"strings"

	"tenon/internal/base/pattern"
)

const maxEnvironmentName = 255 // bytes

var environmentName = pattern.New(`^[a-zA-Z0-9_\\$\{\}. -]([a-zA-Z0-9_/\\$\{\}. -]*[a-zA-Z0-9_\\$\{\}. -])?$`)

// EnvironmentNameText says what the names of environments consist of.
const EnvironmentNameText = "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'"

// EnvironmentName reports whether a text can be the name of an environment.
func EnvironmentName(text string) bool {
	return len(text) <= maxEnvironmentName && strings.TrimSpace(text) != "" && environmentName().MatchString(text)
}
