/**
 * The delay before a failed attempt is retried. The default is e^(2.5 n) seconds for the n-th retry, at most one day.
 * A Retry-Delay expression replaces the default. It calculates milliseconds from `retried`, which is 0 at the first retry. Jsep
 * parses it into a tree, which is evaluated here. Nothing is executed as code, and only the node types below exist.
 */
import jsep from 'jsep';
import { BACKOFF, LIMITS } from '../../config/limits.js';

type Node =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'retried' }
  | { readonly kind: 'negate'; readonly operand: Node }
  | { readonly kind: 'binary'; readonly operator: keyof typeof OPERATORS; readonly left: Node; readonly right: Node }
  | { readonly kind: 'call'; readonly name: keyof typeof FUNCTIONS; readonly args: readonly Node[] };

const OPERATORS = {
  '+': (a: number, b: number) => a + b,
  '-': (a: number, b: number) => a - b,
  '*': (a: number, b: number) => a * b,
  '/': (a: number, b: number) => a / b,
  '%': (a: number, b: number) => a % b,
} as const;

const FUNCTIONS = {
  pow: { min: 2, max: 2, apply: (values: readonly number[]) => (values[0] ?? 0) ** (values[1] ?? 0) },
  exp: { min: 1, max: 1, apply: (values: readonly number[]) => Math.exp(values[0] ?? 0) },
  sqrt: { min: 1, max: 1, apply: (values: readonly number[]) => Math.sqrt(values[0] ?? 0) },
  abs: { min: 1, max: 1, apply: (values: readonly number[]) => Math.abs(values[0] ?? 0) },
  floor: { min: 1, max: 1, apply: (values: readonly number[]) => Math.floor(values[0] ?? 0) },
  ceil: { min: 1, max: 1, apply: (values: readonly number[]) => Math.ceil(values[0] ?? 0) },
  round: { min: 1, max: 1, apply: (values: readonly number[]) => Math.round(values[0] ?? 0) },
  min: { min: 1, max: 16, apply: (values: readonly number[]) => Math.min(...values) },
  max: { min: 1, max: 16, apply: (values: readonly number[]) => Math.max(...values) },
} as const;

/** A parsed expression, or the reason why it is invalid. */
export type ParsedRetryDelay =
  | { readonly ok: true; readonly expression: Node }
  | { readonly ok: false; readonly message: string };

const isOperator = (text: string): text is keyof typeof OPERATORS => Object.hasOwn(OPERATORS, text);
const isFunction = (text: string): text is keyof typeof FUNCTIONS => Object.hasOwn(FUNCTIONS, text);

class NotAllowedError extends Error {}

function buildNode(node: jsep.Expression): Node {
  switch (node.type) {
    case 'Literal':
      if (typeof node.value === 'number' && Number.isFinite(node.value)) return { kind: 'number', value: node.value };
      throw new NotAllowedError('only numbers are allowed as constants');
    case 'Identifier':
      if (node.name === 'retried') return { kind: 'retried' };
      throw new NotAllowedError(`unknown name "${String(node.name)}"; the only variable is "retried"`);
    case 'UnaryExpression': {
      const { operator, argument } = node as jsep.UnaryExpression;
      if (operator === '-') return { kind: 'negate', operand: buildNode(argument) };
      if (operator === '+') return buildNode(argument);
      throw new NotAllowedError(`operator "${operator}" is not allowed; use + - * / %`);
    }
    case 'BinaryExpression': {
      const { operator, left, right } = node as jsep.BinaryExpression;
      if (!isOperator(operator)) throw new NotAllowedError(`operator "${operator}" is not allowed; use + - * / %`);
      return { kind: 'binary', operator, left: buildNode(left), right: buildNode(right) };
    }
    case 'CallExpression': {
      const { callee, arguments: args } = node as jsep.CallExpression;
      const name = callee.type === 'Identifier' ? String((callee as jsep.Identifier).name) : '';
      if (!isFunction(name)) throw new NotAllowedError(`unknown function "${name}"; use ${Object.keys(FUNCTIONS).join(', ')}`);
      const { min, max } = FUNCTIONS[name];
      if (args.length < min || args.length > max) {
        const expected = min === max ? min : `${min} to ${max}`;
        throw new NotAllowedError(`${name} requires ${expected} ${max === 1 ? 'argument' : 'arguments'}, not ${args.length}`);
      }
      return { kind: 'call', name, args: args.map(buildNode) };
    }
    default:
      throw new NotAllowedError('only arithmetic is allowed: numbers, retried, + - * / % ( ) and functions');
  }
}

function evaluate(node: Node, retried: number): number {
  switch (node.kind) {
    case 'number':
      return node.value;
    case 'retried':
      return retried;
    case 'negate':
      return -evaluate(node.operand, retried);
    case 'binary':
      return OPERATORS[node.operator](evaluate(node.left, retried), evaluate(node.right, retried));
    case 'call':
      return FUNCTIONS[node.name].apply(node.args.map((arg) => evaluate(arg, retried)));
  }
}

/** Parses a Retry-Delay expression. If it is invalid, `message` explains why. */
export function parseRetryDelay(source: string): ParsedRetryDelay {
  if (source.trim() === '') return { ok: false, message: 'the expression is empty' };
  if (source.length > LIMITS.maxRetryExpressionLength) {
    return { ok: false, message: `the expression is longer than ${LIMITS.maxRetryExpressionLength} characters` };
  }
  try {
    const expression = buildNode(jsep(source));
    return Number.isFinite(evaluate(expression, 0))
      ? { ok: true, expression }
      : { ok: false, message: 'the expression has no finite value at the first retry (retried = 0)' };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : 'it cannot be parsed' };
  }
}

/** Returns the default delay before a retry in ms. `retried` is the number of retries before it. */
function defaultDelayMs(retried: number): number {
  return Math.min(BACKOFF.maxMs, Math.exp(BACKOFF.exponent * (retried + 1)) * 1000);
}

/**
 * Returns the delay in ms before the next attempt, between 0 and the limit. If an expression has no numeric value for
 * this `retried`, the default applies, which prevents a hot loop.
 */
export function retryDelayMs(source: string | null, retried: number): number {
  const retryDelay = source === null ? null : parseRetryDelay(source);
  const delayMs = retryDelay?.ok ? evaluate(retryDelay.expression, retried) : Number.NaN;
  if (Number.isNaN(delayMs)) return Math.round(defaultDelayMs(retried));
  return Math.round(Math.min(LIMITS.maxRetryDelayMs, Math.max(0, delayMs)));
}
