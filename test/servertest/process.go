package servertest

// PID is the process id of the running server.
func (s *Server) PID() int {
	s.tb.Helper()
	if s.cmd == nil {
		s.tb.Fatal("the server does not run")
	}
	return s.cmd.Process.Pid
}

// Database is the database as Start was given it.
func (s *Server) Database() string { return s.database }
