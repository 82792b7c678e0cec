// What the supervisor needs to know about a kind of server.

/** Servers that store runs. */
export type ServerKind = 'postgres' | 'redis'
/** Every program that tests start. */
export type ProgramKind = ServerKind | 'restate'

export interface User {
  readonly uid: number
  readonly gid: number
}

export interface ServerPlace {
  /** The folder of the server: data, settings, keys. */
  readonly folder: string
  /** The user that executes it. Default: the current user. */
  readonly user: User | undefined
  readonly password: string
}

/** A program with its parameters. */
export type Launch = readonly [program: string, parameters: readonly string[]]

export interface ServerProgram {
  /** Creates the server's files. `run` executes a program to its end. Rejects if the server is not installed. */
  prepare(place: ServerPlace, run: (launch: Launch) => Promise<void>): Promise<void>
  launch(place: ServerPlace, port: number, settings: { readonly [name: string]: string | number }): Launch
  /** The line of the log that says that the server is ready. */
  readonly ready: string
  /** Ends the server at once: it loses its memory, and recovers from its log when it starts again. */
  readonly killedBy: NodeJS.Signals
  readonly stoppedBy: NodeJS.Signals
  /** Whether root may execute it, too. */
  readonly anyUser?: true
}
