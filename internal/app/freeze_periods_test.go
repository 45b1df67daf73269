package app

import "testing"

// TestFreezePeriods lets maintainers say when nothing is to be deployed, which jobs of pipelines know that are made then.
func TestFreezePeriods(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		other := s.do("mona", "POST", "/projects", obj{"name": "Other"})
		all := d.at + "/freeze_periods"
		s.user("gus", nil)
		s.do("mona", "POST", d.at+"/members", obj{"user_id": s.ids["gus"], "access_level": 10})

		weekend := s.do("mona", "POST", all, obj{"freeze_start": "0 23 * * 5", "freeze_end": "0 7 * * 1", "cron_timezone": "Europe/Berlin"})
		one := all + "/" + number(weekend, "id")
		s.do("mona", "DELETE", one, nil)
		weekend = s.do("mona", "POST", all, obj{"freeze_start": "0 23 31 12 *", "freeze_end": "1 23 31 12 *"})
		one = all + "/" + number(weekend, "id")
		d.expect("time zone", weekend["cron_timezone"], "UTC")
		for _, tt := range []struct {
			as, method, path string
			body             obj
			status           int
			want             string
		}{
			{"mona", "POST", all, obj{"freeze_end": "0 7 * * 1"}, 400, `{"error":"freeze_start is missing"}`},
			{"mona", "POST", all, obj{"freeze_start": "0 23 * *", "freeze_end": "0 7 * * 1"}, 400, `{"message":{"freeze_start":[" is invalid syntax"]}}`},
			{"mona", "POST", all, obj{"freeze_start": "0 23 * * 1", "freeze_end": "0 7 * * 1", "cron_timezone": "Nowhere"}, 400, `{"message":{"cron_timezone":[" is invalid syntax"]}}`},
			{"mona", "PUT", one, obj{"freeze_end": "61 * * * *"}, 400, `{"message":{"freeze_end":[" is invalid syntax"]}}`},
			{"rita", "POST", all, obj{"freeze_start": "0 23 * * 1", "freeze_end": "0 7 * * 1"}, 403, ""},
			{"dave", "PUT", one, obj{"freeze_end": "0 7 * * 1"}, 403, ""},
			{"dave", "DELETE", one, nil, 403, ""},
			{"gus", "GET", all, nil, 403, ""},
			{"", "GET", all, nil, 401, ""},
			{"rita", "GET", all, nil, 200, `[{"id":` + number(weekend, "id") + `,"freeze_start":"0 23 31 12 *","freeze_end":"1 23 31 12 *","cron_timezone":"UTC","created_at":"`},
			{"rita", "GET", one, nil, 200, `"freeze_end":"1 23 31 12 *"`},
			{"mona", "GET", "/projects/" + number(other, "id") + "/freeze_periods/" + number(weekend, "id"), nil, 404, "404 Freeze Period Not Found"},
			{"mona", "PUT", one, obj{"freeze_end": "2 23 31 12 *"}, 200, `"freeze_end":"2 23 31 12 *"`},
		} {
			s.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.want)
		}

		const text = "build:\n  script: [make]\n"
		d.commit("main", ".gitlab-ci.yml", text)
		s.do("mona", "POST", all, obj{"freeze_start": "* * * * *", "freeze_end": "0 0 30 2 *"})
		_, set := d.run("success")["CI_DEPLOY_FREEZE"]
		d.expect("in a pipeline of before", set, false)
		d.commit("main", ".gitlab-ci.yml", text+"# again\n")
		d.expect("in a new pipeline", d.run("success")["CI_DEPLOY_FREEZE"], "true")
	})
}
