// The id of a run where there is little room: of one that nobody chose, its beginning is enough to tell it from others.

export function shortId(runId: string): string {
  return runId.length > 14 && /^[0-9a-f]{8}-/.test(runId) ? `${runId.slice(0, 13)}…${runId.slice(36)}` : runId
}
