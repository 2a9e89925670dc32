// Test support: the programs in the repository's pages. The js and ts blocks of a page, in order, are one program; it
// finds data.npy and label.npy (the digits) where it runs. Its text blocks, in order, are what it prints. A block that
// follows the line <!-- not run --> is neither.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** A page that has a program. */
export interface Page {
  /** Path from the repository's root. */
  readonly path: string
  /** The program, in TypeScript. */
  readonly code: string
  /** What the page says that it prints, without the line's ends; empty when it says nothing. */
  readonly prints: readonly string[]
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const BLOCK = /(?<note><!-- not run -->\n+)?^```(?<language>\w+)\n(?<text>.*?)^```$/gms

/** The program in the text of a page; undefined when it has none. */
export function readPage(path: string, text: string): Page | undefined {
  const code: string[] = []
  const prints: string[] = []
  for (const { groups } of text.matchAll(BLOCK)) {
    const { note, language, text: block = '' } = groups ?? {}
    if (note !== undefined) continue
    if (language === 'ts' || language === 'js') code.push(block)
    if (language === 'text') prints.push(...block.trimEnd().split('\n'))
  }
  return code.length === 0 ? undefined : { path, code: code.join('\n'), prints }
}

/** The pages with programs: README.md and those in docs/ and examples/. */
export function pages(): Page[] {
  const folders = ['docs', 'examples'].flatMap((folder) =>
    readdirSync(`${root}${folder}`).flatMap((name) => (name.endsWith('.md') ? [`${folder}/${name}`] : [])),
  )
  return ['README.md', ...folders.sort()].flatMap((path) => readPage(path, readFileSync(root + path, 'utf8')) ?? [])
}

/** The program as JavaScript. */
export function javascript({ code }: Page): string {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true }
  return ts.transpileModule(code, { compilerOptions }).outputText
}
