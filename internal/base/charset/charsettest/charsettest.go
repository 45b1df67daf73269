// Package charsettest has texts in old encodings for tests.
package charsettest

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Paragraph is a text of some lines in an encoding.
type Paragraph struct {
	Name  string // of the encoding
	Text  string
	Bytes []byte // the text in its encoding
}

// Picture is a GIF of one pixel.
const Picture = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x00\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// Paragraphs returns a text in each encoding that is often met.
func Paragraphs() []Paragraph {
	var out []Paragraph
	for _, p := range []struct {
		name string
		in   encoding.Encoding
		text string
	}{
		{"Latin-1", charmap.ISO8859_1, "Les élèves de l'école ont déjà mangé à la cantine.\nLe maître leur a préparé une crème brûlée, et ils étaient très contents.\n"},
		{"Windows-1251", charmap.Windows1251, "Программа читает файл настроек при запуске.\nЕсли файла нет, она создаёт новый и сообщает об этом пользователю.\n"},
		{"Shift-JIS", japanese.ShiftJIS, "このプログラムは設定ファイルを読み込みます。\nファイルが存在しない場合は、新しいファイルを作成して利用者に知らせます。\n"},
		{"EUC-KR", korean.EUCKR, "이 프로그램은 시작할 때 설정 파일을 읽습니다.\n파일이 없으면 새 파일을 만들고 사용자에게 알려 줍니다.\n"},
		{"GBK", simplifiedchinese.GBK, "程序在启动时读取配置文件。\n如果文件不存在，就创建一个新的文件并通知用户。\n"},
		{"Big5", traditionalchinese.Big5, "程式在啟動時讀取設定檔案。\n如果檔案不存在，就建立一個新的檔案並通知使用者。\n"},
	} {
		b, err := p.in.NewEncoder().Bytes([]byte(p.text))
		if err != nil {
			panic(err) // the texts above are constant
		}
		out = append(out, Paragraph{p.name, p.text, b})
	}
	return out
}
