/** A setting of the configuration: its names, its default and its parser. */

export type Mode = 'dev' | 'serve';

export interface SettingContext {
  readonly mode: Mode;
  /** Directory against which relative paths are resolved. */
  readonly cwd: string;
}

export interface Setting<Value> {
  /** Environment variable. */
  readonly env: string;
  /** Flag in the syntax of commander; `--no-x` for switches that are on by default. */
  readonly flag: string;
  /** Property of the parsed options that contains the value of the flag. */
  readonly option: string;
  readonly help: string;
  /** Description of the default for the help. */
  readonly defaultText: string;
  /** Whether error messages omit an invalid value. */
  readonly isSecret?: true;
  /** Returns the default value. */
  readonly fallback: (context: SettingContext) => Value;
  /** Parses the text. Throws an Error with the allowed values. */
  readonly parse: (text: string, context: SettingContext) => Value;
}
