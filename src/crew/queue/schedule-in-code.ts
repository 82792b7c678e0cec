/** What every refused way to set or end a schedule answers. */
export const scheduleInCode =
  'schedules are declared in the code of a crew and kept by workers; call crew.schedule({ cron, inputs }) in the module that exports the crew (docs/guides/workers.md#schedules)'
