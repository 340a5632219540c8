# a custom operator whose rank is unknown: the rule can give it
cat > my.rules <<'RULES'
aten::relu(Tensor self) -> Tensor
    = my.domain::Mine(self)
RULES
pt2onnx net.pt --rules my.rules
