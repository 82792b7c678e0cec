/** Message for attempts to set or end a schedule outside of code. */
export const scheduleInCode =
  'schedules are declared in the code of a crew and executed by workers; call crew.schedule({ cron, inputs }) in the module that exports the crew (docs/guides/workers.md#schedules)'
