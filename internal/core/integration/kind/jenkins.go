package kind

func jenkins() *Kind {
	return &Kind{
		Slug: "jenkins", Title: "Jenkins", Class: CI,
		Later: unsent,
		Settings: []Setting{
			{Name: "jenkins_url", Required: true, URL: true, Where: true, Doc: "URL of the Jenkins server"},
			sslVerification(),
			{Name: "project_name", Required: true, Chars: 255, Doc: "Name of the project in Jenkins"},
			{Name: "username", Chars: 255, Doc: "User of Jenkins"},
			{Name: "password", Secret: true, Doc: "Password of the user"},
		},
		Events: ciEvents(),
	}
}
