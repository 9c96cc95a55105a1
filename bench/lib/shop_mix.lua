-- The mix of the sample `shop-load` for wrk, without the route that answers until the client leaves.
local kinds = {
  {20, "GET", "/health"}, {15, "GET", "/products/"}, {5, "GET", "/catalog/"}, {20, "GET", "/orders/"}, {5, "POST", "/orders/"}, {8, "GET", "/dashboard/"},
  {5, "GET", "/prices/"}, {6, "GET", "/stock/"}, {5, "GET", "/reports/"}, {4, "GET", "/payments/"}, {3, "GET", "/search/"}, {2, "POST", "/newsletter/"},
}
local drawn = {}
for _, kind in ipairs(kinds) do
  for _ = 1, kind[1] do drawn[#drawn + 1] = kind end
end
local number = 0

request = function()
  local kind = drawn[math.random(#drawn)]
  number = number + 1
  local path = kind[3]
  if path:sub(-1) == "/" then path = path .. number end
  return wrk.format(kind[2], path)
end
