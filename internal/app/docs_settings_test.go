package app

import (
	"fmt"
	"strings"

	"tenon/internal/core/setting"
)

// settingsText is the page about the application settings, made from their table.
func settingsText() string {
	var b strings.Builder
	inForce, stored := 0, 0
	for _, e := range setting.Table() {
		if e.Effect != "" {
			inForce++
		} else {
			stored++
		}
	}
	fmt.Fprintf(&b, `# Application settings

Administrators read and change them with `+"`GET` and `PUT /application/settings`"+`. A change is in force with the next request of the
server that took it, and in other processes on the same database within a minute. Secrets are encrypted with `+"`secret.key`"+` in the database, and
masked in audit events.

Every attribute of the contract is stored, validated and answered. %d settings are in force. %d are stored, because the server does
not have their area or a later release brings it.

Two settings are defaults of forms on pages alone, because calls of the API have documented defaults that scripts rely on, whatever an instance sets:
`+"`protected_ci_variables`"+` (a variable that is created by the API is not protected unless the call says so) and `+"`default_snippet_visibility`"+`
(a snippet that is created by the API is internal where the call may leave that out).

This page is made from the table in `+"`internal/core/setting`"+`.

| setting | type | default | meaning | in force |
|---|---|---|---|---|
`, inForce, stored)
	for _, e := range setting.Table() {
		name := "`" + e.Name + "`"
		for _, alias := range e.Aliases {
			name += ", deprecated `" + alias + "`"
		}
		doc := e.Doc
		if e.Secret {
			doc += "; a secret"
		}
		force := e.Effect
		if why := e.Because(); why != "" {
			force = "stored, because " + why
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s |\n", name, e.Kind(), e.Default(), doc, force)
	}
	return b.String()
}
