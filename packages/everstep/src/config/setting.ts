/** One setting of the configuration: its names, its default and how its text is read. */

export type Mode = 'dev' | 'serve';

export interface SettingContext {
  readonly mode: Mode;
  /** Directory at which relative paths start. */
  readonly cwd: string;
}

export interface Setting<Value> {
  readonly env: string;
  /** In the syntax of commander; `--no-x` for switches that are on by default. */
  readonly flag: string;
  /** Name among the parsed options. */
  readonly option: string;
  readonly help: string;
  /** Description of the default for the help. */
  readonly defaultText: string;
  /** Whether error messages omit an invalid value. */
  readonly isSecret?: true;
  readonly fallback: (context: SettingContext) => Value;
  /** Parses the text. Throws an Error with the allowed values. */
  readonly parse: (text: string, context: SettingContext) => Value;
}
