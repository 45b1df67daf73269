package kind

import (
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
)

func harbor() *Kind {
	return &Kind{
		Slug: "harbor", Title: "Harbor", Class: Variables,
		Does: "Jobs get variables for the registry of Harbor",
		Settings: []Setting{
			{Name: "url", Required: true, URL: true, Where: true, Doc: "Base URL of Harbor, such as https://demo.goharbor.io"},
			{Name: "project_name", Required: true, Chars: 255, Doc: "Name of the project in Harbor"},
			{Name: "username", Required: true, Chars: 255, Doc: "User of Harbor"},
			token("password", "Password of the user"),
		},
		Check: func(v Values, f *errs.Fields) {
			f.Check(maskable().MatchString(v.Text("password")), "password", "is invalid")
		},
		Jobs: func(v Values) []Variable {
			address := strings.TrimSuffix(v.Text("url"), "/")
			_, host, _ := strings.Cut(address, "://")
			return []Variable{
				{Key: "HARBOR_URL", Value: address},
				{Key: "HARBOR_HOST", Value: host},
				{Key: "HARBOR_OCI", Value: "oci://" + host},
				{Key: "HARBOR_PROJECT", Value: v.Text("project_name")},
				{Key: "HARBOR_USERNAME", Value: v.Text("username")},
				{Key: "HARBOR_PASSWORD", Value: v.Text("password"), Masked: true},
			}
		},
	}
}

// maskable is what logs can leave out.
var maskable = pattern.New(`^\S{8,}$`)
