/** Changes the level of the log while the server runs. */
import type { Logger } from 'pino';
import { LOG_LEVELS, type LogLevel } from '../config/log-levels.js';

const isMoreDetailed = (a: LogLevel, b: LogLevel): boolean => LOG_LEVELS.indexOf(a) < LOG_LEVELS.indexOf(b);

export class LogLevelSwitch {
  /** The configured level, which applies again after a restart. */
  readonly configured: LogLevel;
  private readonly log: Pick<Logger, 'level' | 'info'>;
  private current: LogLevel;

  constructor(log: Pick<Logger, 'level' | 'info'>, configured: LogLevel) {
    this.log = log;
    this.configured = configured;
    this.current = configured;
  }

  get level(): LogLevel {
    return this.current;
  }

  /** Sets the level immediately. `by` is the user who changes it, for the log entry. */
  set(level: LogLevel, by: string): void {
    const { log, current: previous } = this;
    if (level === previous) return;
    this.current = level;
    // The change is logged at the more detailed of the two levels.
    if (isMoreDetailed(level, previous)) log.level = level;
    log.info({ newLevel: level, previousLevel: previous, by }, 'log level changed');
    log.level = level;
  }

  /** Switches to `debug`, or back to the configured level. Returns the new level. */
  toggleDebug(by: string): LogLevel {
    const otherLevel = this.configured === 'debug' ? 'info' : this.configured;
    this.set(this.current === 'debug' ? otherLevel : 'debug', by);
    return this.current;
  }
}
