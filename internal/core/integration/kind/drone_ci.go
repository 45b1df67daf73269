package kind

func droneCI() *Kind {
	return &Kind{
		Slug: "drone-ci", Title: "Drone", Class: CI,
		Later: unsent,
		Settings: []Setting{
			token("token", "Token of Drone CI"),
			{Name: "drone_url", Required: true, URL: true, Where: true, Doc: "URL of Drone, such as http://drone.example.com"},
			sslVerification(),
		},
		Events: ciEvents(),
	}
}
