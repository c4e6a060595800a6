package episode_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func connect(ctx context.Context, socket string) (*mcp.ClientSession, error) {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://localhost/mcp", HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
}

// call calls a tool; that it fails is not an error.
func call(ctx context.Context, c *mcp.ClientSession, name, args string) error {
	_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	return err
}
