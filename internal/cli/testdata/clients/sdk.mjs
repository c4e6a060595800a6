// Lists a server's tools and calls one, by both official SDKs of JavaScript: node sdk.mjs NODE_MODULES URL TOOL JSON.
import { pathToFileURL } from "node:url";

const [, , modules, url, tool, args] = process.argv;
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`).href);

async function drive(name, client, transport) {
	await client.connect(transport);
	const { tools } = await client.listTools();
	const result = await client.callTool({ name: tool, arguments: JSON.parse(args) });
	await client.close();
	console.log(JSON.stringify({ name, tools: tools.length, error: result.isError ?? false, text: result.content[0].text }));
}

const v1 = await load("sdk/dist/esm/client/index.js");
const http = await load("sdk/dist/esm/client/streamableHttp.js");
await drive("sdk 1", new v1.Client({ name: "t", version: "1" }), new http.StreamableHTTPClientTransport(new URL(url)));
const v2 = await load("client/dist/index.mjs");
for (const mode of ["legacy", "auto"]) {
	await drive(`sdk 2 ${mode}`, new v2.Client({ name: "t", version: "1" }, { versionNegotiation: { mode } }), new v2.StreamableHTTPClientTransport(new URL(url)));
}
