package app
import ("testing";"time")
func TestZZ(t *testing.T){ a:=time.Now(); s:=newServer(t,""); b:=time.Now(); newWorld(s); t.Log(b.Sub(a), time.Since(b)) }
