// What the supervisor has to know about a kind of server.
/** Servers that store runs. */
export type ServerKind = 'postgres' | 'redis'
/** Every program that tests start. */
export type ProgramKind = ServerKind | 'restate'

export interface User {
  readonly uid: number
  readonly gid: number
}

export interface ServerPlace {
  /** In which everything of it is. */
  readonly folder: string
  /** The user that executes it. Default: the current user. */
  readonly user: User | undefined
  readonly password: string
}

/** A program with its parameters. */
export type Launch = readonly [program: string, parameters: readonly string[]]

export interface ServerProgram {
  /** Makes what it needs. `run` resolves when a program has ended well. Rejects where it is not to be had here. */
  prepare(place: ServerPlace, run: (launch: Launch) => Promise<void>): Promise<void>
  launch(place: ServerPlace, port: number, settings: { readonly [name: string]: string | number }): Launch
  /** What it says when it can be used. */
  readonly ready: string
  /** Hard: what was in its memory is gone, and it recovers from its log when it starts again. */
  readonly killedBy: NodeJS.Signals
  readonly stoppedBy: NodeJS.Signals
  /** Root may execute it, too. */
  readonly asWhoever?: true
}
