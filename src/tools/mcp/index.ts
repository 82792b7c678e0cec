// `reprise/mcp`: the tools of MCP servers. The client, `@ai-sdk/mcp`, is loaded when a server is opened.
import '../../base/node-version.ts'

export { mcpTools, type McpOptions, type McpServer, type McpTools } from './mcp-tools.ts'
