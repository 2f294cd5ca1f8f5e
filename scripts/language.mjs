// npm run lint: checks the language of pages, comments and texts of the program, and the subjects of commits.
// npm run lint:language: does the same, and reports long sentences in the pages, which do not fail the check.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { checkTexts, longSentencesIn, textsOf } from './language/check.mjs';
import { EXCEPTIONS, MAX_SENTENCE_WORDS, MAX_SUBJECT_LENGTH, PHRASES, SPELLINGS, SUBJECTS_SINCE } from './language/rules.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Returns the commits after the one in the rules, with their subjects; none if the history does not contain that commit. */
function recentSubjects() {
  const { status, stdout } = spawnSync('git', ['log', '--no-merges', '--oneline', '--no-decorate', `${SUBJECTS_SINCE}..HEAD`], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.split('\n').filter((line) => line !== '') : [];
}

const texts = textsOf(ROOT);
const { findings, unusedExceptions } = checkTexts(texts, [...PHRASES, ...SPELLINGS], EXCEPTIONS);
const longSubjects = recentSubjects().filter((line) => line.slice(line.indexOf(' ') + 1).length > MAX_SUBJECT_LENGTH);

for (const { path, line, phrase, replacement, context } of findings)
  console.error(`${path}:${line}: "${phrase}": write ${replacement}\n    ${context.slice(0, 160)}`);
for (const { path, text } of unusedExceptions)
  console.error(`scripts/language/rules.mjs: the exception "${text}" in ${path} is not needed`);
for (const line of longSubjects) console.error(`commit ${line}: the subject has more than ${MAX_SUBJECT_LENGTH} characters`);

if (process.argv.includes('--sentences')) {
  const longSentences = longSentencesIn(
    texts.filter(({ path }) => path.endsWith('.md')),
    MAX_SENTENCE_WORDS,
  );
  for (const { path, line, words } of longSentences) console.log(`${path}:${line}: a sentence of ${words} words`);
  console.log(`${longSentences.length} sentences have more than ${MAX_SENTENCE_WORDS} words`);
}
const problems = findings.length + unusedExceptions.length + longSubjects.length;
console.log(problems === 0 ? `No language problems in ${texts.length} files` : `${problems} language problems`);
process.exitCode = problems === 0 ? 0 : 1;
