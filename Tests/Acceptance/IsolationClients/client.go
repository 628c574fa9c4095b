// Gets and posts by net/http, without C.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func show(response *http.Response, err error) {
	if err == nil {
		defer response.Body.Close()
		var body []byte
		if body, err = io.ReadAll(response.Body); err == nil {
			fmt.Println(response.StatusCode, string(body))
			return
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func main() {
	show(http.Get(os.Args[1] + "/get?client=go"))
	show(http.Post(os.Args[1]+"/post", "text/plain", strings.NewReader("from Go")))
}
