// House checks: the public API as the built declarations (dist/index.d.ts) give it, seen through TypeScript's compiler.
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** One name that the package exports. */
export interface Exported {
  name: string
  /** What the name stands for, with re-exports followed to the end. */
  symbol: ts.Symbol
  declarations: ts.Declaration[]
}

/** The repository's root, with a slash at its end. */
export const root: string = fileURLToPath(new URL('../../', import.meta.url))

/** Reads the declarations of `entry`; `exported` is sorted by name. */
export function readDeclarations(entry: string): { checker: ts.TypeChecker; exported: Exported[] } {
  const program = ts.createProgram([entry], {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    types: ['node'],
    typeRoots: [`${root}node_modules/@types`],
    strict: true,
  })
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(entry)
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${entry} is missing or exports nothing; run npm run build`)
  const exported = checker.getExportsOfModule(module).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    return { name: symbol.name, symbol: target, declarations: target.declarations ?? [] }
  })
  return { checker, exported: exported.sort((a, b) => (a.name < b.name ? -1 : 1)) }
}

/** The declarations that users see: not private ones, whatever the way they are written, and none marked `@internal`. */
function isPublic(declaration: ts.Declaration): boolean {
  const name = ts.getNameOfDeclaration(declaration)
  return !(
    (name !== undefined && ts.isPrivateIdentifier(name)) ||
    ts.getJSDocTags(declaration).some((tag) => tag.tagName.text === 'internal') ||
    ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Private
  )
}

/** The statement or member as text without comments and private members. */
export function render(declaration: ts.Declaration): string {
  let node: ts.Node = declaration
  if (ts.isVariableDeclaration(declaration)) node = declaration.parent.parent
  if (ts.isClassDeclaration(declaration)) {
    const { modifiers, name, typeParameters, heritageClauses } = declaration
    const members = declaration.members.filter(isPublic)
    node = ts.factory.updateClassDeclaration(declaration, modifiers, name, typeParameters, heritageClauses, members)
  }
  const printer = ts.createPrinter({ removeComments: true })
  return printer.printNode(ts.EmitHint.Unspecified, node, declaration.getSourceFile()).replaceAll('\r\n', '\n')
}

/**
 * The names of types of this package that the exported declarations mention without the package exporting them: a user
 * could not write such a type down.
 */
export function unexportedTypes(checker: ts.TypeChecker, exported: readonly Exported[]): string[] {
  const known = new Set(exported.map((one) => one.symbol))
  const missing = new Set<string>()
  const visit = (owner: string, node: ts.Node): void => {
    if (ts.isClassElement(node) && !isPublic(node)) return
    // `keyof Rows` and `Rows[K]` only name a table of types; what they give needs no name.
    if (
      ts.isIndexedAccessTypeNode(node) ||
      (ts.isTypeOperatorNode(node) && node.operator === ts.SyntaxKind.KeyOfKeyword)
    ) {
      return
    }
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : undefined
    const found = name && checker.getSymbolAtLocation(name)
    if (found !== undefined) {
      const target = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found
      const own = target.declarations?.every((one) => !one.getSourceFile().fileName.includes('/node_modules/'))
      if (own && !(target.flags & ts.SymbolFlags.TypeParameter) && !known.has(target)) {
        missing.add(`${owner} mentions ${target.name}`)
      }
    }
    ts.forEachChild(node, (child) => visit(owner, child))
  }
  for (const one of exported) for (const declaration of one.declarations) visit(one.name, declaration)
  return [...missing].sort()
}

/** The exported names and public members that have no doc comment, as `Name` or `Name.member`. */
export function undocumented(checker: ts.TypeChecker, exported: readonly Exported[]): string[] {
  const missing: string[] = []
  const isDocumented = (symbol: ts.Symbol): boolean =>
    ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim() !== '' ||
    (symbol.declarations ?? []).some((one) =>
      ts.getJSDocCommentsAndTags(one).some((doc) => ts.isJSDoc(doc) && Boolean(doc.comment)),
    )
  for (const { name, symbol, declarations } of exported) {
    if (!isDocumented(symbol)) missing.push(name)
    for (const member of membersOf(checker, symbol, declarations)) {
      if ((member.declarations ?? []).some(isPublic) && !isDocumented(member)) {
        missing.push(`${name}.${memberName(member)}`)
      }
    }
  }
  return missing
}

/** The members that the declarations of `symbol` themselves write down: of classes, interfaces and object types. */
function membersOf(checker: ts.TypeChecker, symbol: ts.Symbol, declarations: readonly ts.Declaration[]): ts.Symbol[] {
  const isClass = Boolean(symbol.flags & ts.SymbolFlags.Class)
  const owners = new Set<ts.Node>(declarations)
  for (const one of declarations.filter(ts.isTypeAliasDeclaration)) {
    for (const type of ts.isIntersectionTypeNode(one.type) ? one.type.types : [one.type]) owners.add(type)
  }
  const construct = symbol.members?.get(ts.InternalSymbolName.Constructor)
  const candidates = [
    ...(construct === undefined ? [] : [construct]),
    ...(symbol.flags & ts.SymbolFlags.Type ? checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)) : []),
    ...(isClass ? checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol)) : []),
  ]
  return candidates.filter((member) => member.declarations?.some((one) => owners.has(one.parent)))
}

function memberName(member: ts.Symbol): string {
  if (member.name === '__constructor') return 'constructor'
  const name = member.declarations?.[0] && ts.getNameOfDeclaration(member.declarations[0])
  return name ? name.getText() : member.name
}
