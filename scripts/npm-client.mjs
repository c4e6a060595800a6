// Calls test_patch at the address that it is given, with a progress handler, and prints the text of the answer.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "npm-client", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
let heard = 0;
const result = await client.callTool({ name: "test_patch" }, undefined, { onprogress: () => heard++, resetTimeoutOnProgress: true, timeout: 600_000 });
if (result.isError || result.content.length !== 1 || result.structuredContent?.level?.number !== 2 || heard === 0) {
	console.error("unexpected answer", JSON.stringify(result), "progress", heard);
	process.exit(1);
}
console.log(result.content[0].text);
await client.close();
