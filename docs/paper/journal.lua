-- Authors with their affiliations, as the journal writes them, for the templates of pandoc.
function Meta(meta)
  local names = {}
  for _, affiliation in ipairs(meta.affiliations) do
    names[pandoc.utils.stringify(affiliation.index)] = affiliation.name
  end
  meta.author = pandoc.MetaList({})
  for i, author in ipairs(meta.authors) do
    meta.author[i] = { name = author.name, affiliation = names[pandoc.utils.stringify(author.affiliation)], email = "" }
  end
  return meta
end
