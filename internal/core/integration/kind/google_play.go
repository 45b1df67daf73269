package kind

import (
	"encoding/json"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
)

func googlePlay() *Kind {
	return &Kind{
		ProjectsOnly: true,
		Slug:         "google-play", Title: "Google Play", Class: Variables,
		Does: "Jobs of protected branches and tags get variables for Google Play",
		Settings: []Setting{
			{Name: "package_name", Required: true, Chars: 255, Doc: "Package name of the app"},
			{Name: "service_account_key_file_name", Chars: 255, Doc: "Name of the file of the service account key"},
			{Name: "service_account_key", Required: true, Secret: true, Chars: maxKey, Doc: "Key of the service account, as JSON"},
		},
		Check: func(v Values, f *errs.Fields) {
			f.Check(playPackage().MatchString(v.Text("package_name")), "package_name", "is invalid")
			var key map[string]json.RawMessage
			f.Check(json.Unmarshal([]byte(v.Text("service_account_key")), &key) == nil && key != nil, "service_account_key", "is invalid")
		},
		Jobs: func(v Values) []Variable {
			return []Variable{
				{Key: "SUPPLY_PACKAGE_NAME", Value: v.Text("package_name"), Protected: true},
				{Key: "SUPPLY_JSON_KEY_DATA", Value: v.Text("service_account_key"), Masked: true, Protected: true},
			}
		},
	}
}

var playPackage = pattern.New(`^[A-Za-z]\w*(\.[A-Za-z]\w*){1,20}$`)
